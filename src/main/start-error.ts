// What is a person's to mend: told as a sentence, without a stack.

/** It stops a start. */
export class StartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StartError';
    delete this.stack;
  }
}

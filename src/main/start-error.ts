// What stops a start and is a person's to mend: told as a sentence, without a stack.

export class StartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StartError';
  }
}

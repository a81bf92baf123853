// A command that was called in a wrong way: told as a sentence, exit code 2.

export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

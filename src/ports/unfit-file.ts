// Thrown by an adapter whose file is there and not what it should be: a person's to mend.

/** Its bytes can't be what they should. The message says why, as a part of a sentence. */
export class DamagedFileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DamagedFileError';
  }
}

/** It is whole, and of another kind or of another version. The message is a sentence about it, without its subject. */
export class UnfitFileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnfitFileError';
  }
}

// Secrets at rest: sealed for one purpose of one tenant, opened in memory alone.

export class SecretBoxError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SecretBoxError';
  }
}

export interface SecretBox {
  /** @param context associated data, e.g. `tnt_...:EMAIL`: the sealed text opens under the same context alone */
  seal(plain: string, context: string): string;
  /** @throws SecretBoxError when it was tampered with, sealed elsewhere, or under another secret */
  open(sealed: string, context: string): string;
}

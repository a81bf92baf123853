// Secrets at rest: sealed for one purpose of one tenant, opened in memory alone.

export class SecretBoxError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SecretBoxError';
  }
}

/** Seals under one secret; opens under that one and under those that were in use before it. */
export interface SecretBox {
  /** @param context associated data, e.g. `tnt_...:EMAIL`: the sealed text opens under the same context alone */
  seal(plain: string, context: string): string;
  /** @throws SecretBoxError when it was tampered with, sealed elsewhere, or under a secret that is not known */
  open(sealed: string, context: string): string;
  /** Whether it says that it was sealed under the secret that `seal` uses. */
  isCurrent(sealed: string): boolean;
}

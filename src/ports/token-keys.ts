// Keys that bearer tokens are verified with, by their key id.

import type { KeyObject } from 'node:crypto';

/** The token names a key that the issuer doesn't have. */
export class UnknownTokenKeyError extends Error {
  constructor() {
    super('the token names a key that its issuer does not have');
    this.name = 'UnknownTokenKeyError';
  }
}

export interface TokenKeys {
  /** @throws UnknownTokenKeyError; any other Error when the issuer's keys can't be fetched */
  keyFor(header: { readonly kid?: string | undefined; readonly alg?: string | undefined }): Promise<KeyObject>;
}

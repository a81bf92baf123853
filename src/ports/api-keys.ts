// API keys: `nk_`, 32 random base62 characters and 6 of checksum, which is checked before anything is looked up.

export interface ApiKeys {
  generate(): string;
  /** Whether it is spelled as one of ours: form and checksum. */
  isWellFormed(apiKey: string): boolean;
  /** SHA-256 in hex. */
  hash(apiKey: string): string;
}

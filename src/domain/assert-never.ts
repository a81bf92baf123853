// The end of every switch over a union: the compiler points here when a case is missing.

export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`);
}

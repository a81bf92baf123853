// How long to wait before another try: 100 ms, twice that with every failure, 2 s at most.

const firstMs = 100;
const maxMs = 2_000;

/** @param failures in a row, this one included */
export function backOffMs(failures: number): number {
  return Math.min(firstMs * 2 ** Math.max(0, failures - 1), maxMs);
}

// A log-linear histogram of milliseconds: exact below 64 ms, 32 steps an octave above, so a percentile is at most 3.2 % too high.

/** Counts by bucket number; JavaScript keeps such keys in ascending order. */
export type LatencyHistogram = Readonly<Record<string, number>>;

/** @param latencyMs negative ones (clocks of two machines) count as 0 */
export function bucketOf(latencyMs: number): number {
  let value = Math.max(0, Math.floor(latencyMs));
  let octave = 0;
  while (value >= 64) {
    value = Math.floor(value / 2);
    octave++;
  }
  return octave * 32 + value;
}

/** The largest whole ms that falls into the bucket. */
export function bucketEndMs(bucket: number): number {
  if (bucket < 64) return bucket;
  const octave = Math.floor(bucket / 32) - 1;
  return (bucket - octave * 32 + 1) * 2 ** octave - 1;
}

/** The least bucket end that at least this share of the values doesn't exceed; null without values. */
export function percentileMs(counts: ReadonlyMap<number, number>, share: number): number | null {
  const buckets = [...counts].sort(([a], [b]) => a - b);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  const rank = Math.max(1, Math.ceil(total * share));
  let seen = 0;
  for (const [bucket, count] of buckets) {
    seen += count;
    if (seen >= rank) return bucketEndMs(bucket);
  }
  return null;
}

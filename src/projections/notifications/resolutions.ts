// The buckets of time in which statistics are kept.

/** Coarsest first. */
export const resolutions = ['day', 'hour', 'minute'] as const;
export type Resolution = (typeof resolutions)[number];

/** Of a stored cell. `kept`: a day of notifications that are forgotten (kept-days.ts). */
export type StoredResolution = Resolution | 'kept';

export const resolutionMs: Readonly<Record<Resolution, number>> = { day: 86_400_000, hour: 3_600_000, minute: 60_000 };

/** When the bucket that a time falls into begins. */
export function bucketStart(resolution: Resolution, timeMs: number): number {
  return timeMs - (timeMs % resolutionMs[resolution]);
}

// What the benchmark's processes say to one another over their IPC channels.

/** One way to load a server: so many connections, each sending the next request when the last one is answered, or a fixed rate whatever the answers. */
export type LoadPlan =
  | { readonly kind: 'closed'; readonly target: LoadTarget; readonly connections: number; readonly until: LoadEnd }
  | {
      readonly kind: 'open';
      readonly target: LoadTarget;
      readonly connections: number;
      readonly ratePerSecond: number;
      readonly durationMs: number;
    };

export type LoadEnd =
  | { readonly kind: 'after'; readonly durationMs: number }
  | { readonly kind: 'count'; readonly requests: number };

export interface LoadTarget {
  readonly port: number;
  /** One per tenant; connection i sends as tenant i mod n. */
  readonly apiKeys: readonly string[];
  /** Where the webhooks go. */
  readonly sinkUrl: string;
  /** Keep the ids of what was accepted, to be compared with what arrives. */
  readonly keepIds: boolean;
  /** Of the notification's own text; null: a line of it. */
  readonly bodyBytes: number | null;
}

export interface LoadResult {
  readonly answers: number;
  /** How often each status was answered. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly elapsedMs: number;
  readonly perSecond: number;
  readonly latencyMs: Percentiles;
  /** Monotonic ms (monotonicMs) at which the first request was written. */
  readonly firstSentAtMs: number;
  readonly ids: readonly string[];
  readonly overTime: readonly Moment[];
}

/** What was answered, or arrived, in half a second. */
export interface Moment {
  /** Monotonic ms at which it begins. */
  readonly atMs: number;
  readonly perSecond: number;
  /** Of those whose latency is known. */
  readonly latencyMs: Percentiles | null;
}

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export type SinkCommand =
  | { readonly kind: 'reset' }
  /** Answered with a SinkReport as soon as `distinct` ids have arrived, or after `withinMs`. */
  | { readonly kind: 'report'; readonly distinct: number; readonly withinMs: number };

export interface SinkReport {
  readonly arrivals: number;
  /** Every id that arrived, once. */
  readonly ids: readonly string[];
  readonly lastArrivalAtMs: number;
  /** From the moment that the request was due, as it says itself, until its arrival here. */
  readonly latencyMs: Percentiles;
  readonly overTime: readonly Moment[];
}

export interface FillPlan {
  readonly notifications: number;
  readonly tenantIds: readonly string[];
  /** What the first tenant has of them. */
  readonly share: 'as all' | 'nine tenths';
}

export interface Filled {
  readonly tookMs: number;
  /** How many events each read model has folded once it has seen all of it. */
  readonly foldedEvents: Readonly<Record<string, number>>;
  /** Words that one notification of the first tenant each has. */
  readonly words: readonly string[];
}

/** Answered with `Appended`. */
export interface AppendPlan {
  readonly items: number;
}

export interface Appended {
  readonly tookMs: number;
}

export interface CrowdPlan {
  readonly port: number;
  readonly apiKeys: readonly string[];
  readonly connections: number;
  readonly durationMs: number;
}

export interface CrowdResult {
  /** How often each status was answered to a post. */
  readonly statuses: Readonly<Record<string, number>>;
}

/** CLOCK_MONOTONIC on Linux: one clock for all processes of a machine. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Sorts the values in place. */
export function percentiles(values: number[]): Percentiles {
  values.sort((a, b) => a - b);
  const at = (share: number) => values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), max: values.at(-1) ?? Number.NaN };
}

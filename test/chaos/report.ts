// The chaos told in lines: what was seen in all, and of each thing that is wrong what the logs and the topics hold of it.

import type { Load } from './load.ts';
import type { LogLine } from './evidence.ts';
import { loggedEvents, warnLevel } from './evidence.ts';
import type { Arrival } from './receivers.ts';
import type { Repeat } from './repeats.ts';
import type { Happening } from './timeline.ts';
import type { JudgedWait } from './waits.ts';

/** Of each kind of fault so many are told in full. */
const toldMax = 10;
const linesMax = 30;
/** Warnings this long before and after a wait are told with it. */
const aroundMs = 3_000;

function tally<T>(items: readonly T[], keyOf: (item: T) => string): string {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return [...counts].map(([key, count]) => `${count} ${key}`).join(', ') || 'none';
}

export function worst(waits: readonly JudgedWait[]): string {
  const steps = [...new Set(waits.map(({ step }) => step))];
  const highest = (values: readonly number[]) => (values.reduce((a, b) => Math.max(a, b), 0) / 1000).toFixed(1);
  return steps
    .map((step) => {
      const own = waits.filter((wait) => wait.step === step);
      return `${step} ${highest(own.map(({ ms }) => ms))} s (${highest(own.map(({ unexcusedMs }) => unexcusedMs))} s unexcused)`;
    })
    .join(', ');
}

/** A notification about which something is wrong, at a time of which the processes should have something to say. */
export interface Fault {
  readonly n: number;
  readonly why: string;
  readonly at: number;
}

export interface Evidence {
  readonly prefix: string;
  readonly load: Load;
  readonly arrivals: ReadonlyMap<number, readonly Arrival[]>;
  readonly happened: readonly Happening[];
  readonly lines: readonly LogLine[];
}

/** For a person who has to find the cause: posts, arrivals, attempts, events and warnings of the notifications, and what was done meanwhile. */
export async function tellOf(evidence: Evidence, faults: readonly Fault[]): Promise<string> {
  const { prefix, load, arrivals, lines, happened } = evidence;
  const chosen = faults.slice(0, toldMax);
  const ids = new Set(chosen.flatMap(({ n }) => load.sendings[n]?.accepted?.id ?? []));
  const events = await loggedEvents(prefix, ids);
  const told = chosen.flatMap(({ n, why }) => {
    const sending = load.sendings[n];
    if (sending === undefined) return [];
    const { channel, kind, sendAt, accepted, tenant } = sending;
    const id = accepted?.id ?? 'not accepted';
    const attempts = lines.filter(({ msg, fields }) => msg === 'attempt' && fields['notificationId'] === id);
    return [
      `#${n} ${why}: ${channel} ${kind} of ${tenant.id}: ${id}, accepted ${iso(accepted?.at)}, sendAt ${iso(sendAt)}`,
      ...(arrivals.get(n) ?? []).map(({ at, answer }) => `   arrived  ${iso(at)} ${answer}`),
      ...attempts.map(
        ({ at, process, fields }) =>
          `   attempt  ${iso(at)} ${process} attempt ${String(fields['attempt'])} ${String(fields['outcome'])} took ${String(fields['tookMs'])} ms`,
      ),
      ...(events.get(id) ?? []).map(({ told }) => `   log      ${told}`),
    ];
  });
  const near = (at: number) => chosen.some((fault) => Math.abs(fault.at - at) <= aroundMs);
  const done = happened.filter(({ at }) => near(at)).map((one) => `   ${iso(one.at)} ${one.process} ${one.what}`);
  const warnings = lines.filter(({ level, at }) => level >= warnLevel && near(at)).slice(0, linesMax);
  const warned = warnings.map(
    ({ at, process, msg, fields }) => `   ${iso(at)} ${process} ${msg} ${JSON.stringify(fields).slice(0, 300)}`,
  );
  return [...told, '   processes meanwhile:', ...done, '   warnings meanwhile:', ...warned].join('\n');
}

/** What the watchdogs of the processes said stands still, between two times. */
export function standstillsSaid(lines: readonly LogLine[], from: number, to: number): string {
  const said = lines.filter(({ msg, at }) => msg === 'partition numbers stand still' && at >= from && at <= to);
  return tally(said, ({ process, fields }) => `${process} of ${String(fields['group'])}`);
}

export function tellRepeats(repeats: readonly Repeat[]): string {
  return `${repeats.length} repeats (${tally(repeats, ({ reason }) => (reason === null ? 'WITHOUT A REASON' : (reason.split(':')[0] ?? '')))})`;
}

function iso(at: number | null | undefined): string {
  return at == null ? '-' : new Date(at).toISOString();
}

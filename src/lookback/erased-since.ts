// What was erased since a fold began. A fold hides what was erased by then; what is erased later it still shows, until it is folded anew.

import { settingsTopic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { LogBeside } from './cut-log.ts';

type WholeLog = Pick<LogBeside, 'ends' | 'read'>;

/** From one look at the log to the next: for so long at most a fold shows what is erased. */
const lookEveryMs = 1000;

/** Erasures stand there: up to where a fold that begins now knows them, by partition number. @throws Error when the log can't be read */
export function knownErasures(log: WholeLog): Promise<readonly number[]> {
  return log.ends(settingsTopic);
}

/** @param log all of it, not cut at any moment @throws Error when it can't be read */
export async function isAnyErasedSince(log: WholeLog, known: readonly number[]): Promise<boolean> {
  for (const [partition, end] of (await log.ends(settingsTopic)).entries()) {
    const from = known[partition] ?? 0;
    if (from >= end) continue;
    for await (const { head } of log.read({ topic: settingsTopic, partition, from, to: end }))
      if (head?.type === 'RecipientErased' || head?.type === 'TenantErased') return true;
  }
  return false;
}

/** Resolves once anything is; never when the signal aborts before. @throws Error when the log can't be read */
export async function anyErased(
  log: WholeLog,
  known: readonly number[],
  { clock, signal }: { readonly clock: Pick<Clock, 'sleep'>; readonly signal: AbortSignal },
): Promise<void> {
  let seen = known;
  while (!signal.aborted) {
    const ends = await knownErasures(log);
    if (await isAnyErasedSince(log, seen)) return;
    seen = ends;
    await clock.sleep(lookEveryMs, signal);
  }
  await new Promise(() => undefined);
}

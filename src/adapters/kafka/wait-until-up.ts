// Waiting for an engine at start: tries until it works, says that it waits, stops when it is told to or when trying again can't help.

import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import { accessProblem, reasonOf } from './access.ts';
import { causesOf } from './kafka-errors.ts';

export interface WaitDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborted: the start is given up. */
  readonly signal?: AbortSignal | undefined;
}

/** Trying again can't help: the start stops. */
export class StartRefusal extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StartRefusal';
  }
}

const betweenTriesMs = 500;
const betweenLinesMs = 5_000;
/** Said by us or by the registry; all else but what keeps us out of Kafka may pass. */
const finalErrors = ['StartRefusal', 'RegistryRefusal'];

/**
 * @param what the engine, for the log: "Kafka"
 * @throws Error when the signal is aborted; StartRefusal naming the settings when Kafka doesn't let us in; whatever else `attempt` throws that can't pass
 */
export async function waitUntilUp<T>(
  what: string,
  attempt: () => Promise<T>,
  { clock, logger, signal }: WaitDependencies,
): Promise<T> {
  let toldAt = -Infinity;
  for (;;) {
    if (signal?.aborted === true) throw new Error(`the start was given up while waiting for ${what}`);
    try {
      const result = await attempt();
      if (toldAt > -Infinity) logger.info(`${what} is there`);
      return result;
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== null) throw refusal;
      if (clock.monotonic() - toldAt >= betweenLinesMs) {
        logger.warn(`waiting for ${what}`, { reason: reasonOf(error) });
        toldAt = clock.monotonic();
      }
    }
    await clock.sleep(betweenTriesMs, signal);
  }
}

/** Null: it may pass. */
function refusalOf(error: unknown): unknown {
  if (causesOf(error).some(({ name }) => finalErrors.includes(name))) return error;
  const problem = accessProblem(error);
  return problem === null ? null : new StartRefusal(problem, error);
}

// Waiting for an engine at start: tries until it works, says that it waits, stops when it is told to or when trying again can't help.

import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';

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
/** Wrong credentials, in kafkajs and in the registry; all else may pass. */
const finalErrors = ['StartRefusal', 'RegistryRefusal', 'KafkaJSSASLAuthenticationError'];

/** @param what the engine, for the log: "Kafka". @throws Error when the signal is aborted; whatever `attempt` throws that can't pass */
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
      if (isFinal(error)) throw error;
      if (clock.monotonic() - toldAt >= betweenLinesMs) {
        logger.warn(`waiting for ${what}`, { reason: error instanceof Error ? error.message : String(error) });
        toldAt = clock.monotonic();
      }
    }
    await clock.sleep(betweenTriesMs, signal);
  }
}

/** kafkajs wraps errors in errors when it gives up; four deep at most. */
function isFinal(error: unknown): boolean {
  for (let cause = error, depth = 0; depth < 4 && cause instanceof Error; depth++) {
    if (finalErrors.includes(cause.name)) return true;
    ({ cause } = cause);
  }
  return false;
}

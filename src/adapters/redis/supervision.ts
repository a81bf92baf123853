// Whether Redis may be asked: it is connected, has answered in time and hasn't failed within the last second. Says once
// when it is away and once when it is back. What has refused to write (a replica after a fail-over, out of memory) is back
// once it has written: it answers what only reads all the while, and accepts each new connection.

import type { Logger } from '../../ports/logger.ts';
import type { RedisConnection } from './connection.ts';

export interface Supervision {
  mayAsk(): boolean;
  /** By what it answered last; it may be asked all the same, once it has rested. */
  isUp(): boolean;
  /** The answer, or its error; no answer in time is one, and ends the connection. `hasWritten`: it could not have been given without a write. */
  watch<T>(answer: Promise<T>, hasWritten: (answer: T) => boolean): Promise<T>;
  close(): void;
}

/**
 * No answer within four ticks, 75 to 100 ms, is none. Ticks are counted rather than time: a process that was busy for
 * longer than that reads what has arrived meanwhile before its next tick.
 */
const tickMs = 25;
const ticksMax = 4;
/** After an error that Redis answered with (loading, out of memory, a replica), it isn't asked. */
const restMs = 1000;

export function createSupervision(by: { connection: RedisConnection; logger: Logger }): Supervision {
  const { connection, logger } = by;
  const { client } = connection;
  /** Of each answer that is waited for: the tick at which it was asked for. */
  const waiting = new Set<{ readonly since: number }>();
  let ticks = 0;
  let ticker: NodeJS.Timeout | null = null;
  let restUntil = 0;
  let isAway = false;
  /** It has answered with an error, and written nothing since. */
  let refuses = false;
  let isClosed = false;

  client.on('ready', () => {
    if (!refuses) noteAnswer();
  });
  client.on('close', () => noteFailure('the connection was closed'));
  // Without this listener ioredis writes errors to the console; their other properties may hold the password.
  client.on('error', ({ message }: Error) => noteFailure(message));

  function noteAnswer(): void {
    restUntil = 0;
    refuses = false;
    if (isAway) logger.info('Redis is back: limits hold over all processes again');
    isAway = false;
  }

  function noteFailure(reason: string): void {
    if (isClosed) return;
    if (!isAway) logger.warn('Redis is away: each process holds limits by itself', { reason });
    isAway = true;
  }

  function tick(): void {
    ticks++;
    const [oldest] = waiting;
    if (oldest === undefined) return stopTicking();
    if (ticks - oldest.since < ticksMax) return;
    noteFailure(`no answer within ${ticksMax * tickMs} ms`);
    connection.drop();
  }

  function stopTicking(): void {
    if (ticker !== null) clearInterval(ticker);
    ticker = null;
  }

  return {
    mayAsk: () => client.status === 'ready' && performance.now() >= restUntil,
    isUp: () => client.status === 'ready' && !isAway,
    async watch(answer, hasWritten) {
      const asked = { since: ticks };
      waiting.add(asked);
      ticker ??= setInterval(tick, tickMs);
      try {
        const result = await answer;
        if (isAway && (!refuses || hasWritten(result))) noteAnswer();
        return result;
      } catch (error) {
        if (client.status === 'ready') {
          restUntil = performance.now() + restMs;
          refuses = true;
        }
        noteFailure(error instanceof Error ? error.message : String(error));
        throw error;
      } finally {
        waiting.delete(asked);
      }
    },
    close() {
      isClosed = true;
      stopTicking();
    },
  };
}

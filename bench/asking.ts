// Asks a service for the same things over and over, one after another on one connection, and says how long each took.

import { openConnection } from './connection.ts';
import type { Percentiles } from './protocol.ts';
import { monotonicMs, percentiles } from './protocol.ts';

export interface Asked {
  readonly latencyMs: Percentiles;
  readonly count: number;
}

const api = '/api/v1';

export interface Asker {
  /** @param pathsOf of the nth round, below /api/v1. @throws Error when one isn't answered with 200 */
  ask(rounds: number, pathsOf: (round: number) => readonly string[]): Promise<Asked>;
  close(): void;
}

export async function openAsker({ port, token }: { readonly port: number; readonly token: string }): Promise<Asker> {
  let answered: (status: string, body: string) => void = () => {};
  let failed: (error: Error) => void = () => {};
  const connection = await openConnection(port, {
    answered: (status, body) => answered(status, body),
    failed: (error) => failed(error),
  });
  const askOnce = (path: string) =>
    new Promise<void>((resolve, reject) => {
      answered = (status, body) => {
        if (status === '200') resolve();
        else reject(new Error(`${path} was answered with ${status}: ${body}`));
      };
      failed = reject;
      connection.send(`GET ${api}${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    });
  return {
    async ask(rounds, pathsOf) {
      const tookMs: number[] = [];
      for (let round = 0; round < rounds; round++) {
        for (const path of pathsOf(round)) {
          const startedAt = monotonicMs();
          await askOnce(path);
          tookMs.push(monotonicMs() - startedAt);
        }
      }
      return { latencyMs: percentiles(tookMs), count: tookMs.length };
    },
    close: () => connection.close(),
  };
}

// The connected thread's end of a connection: requests with an answer each, and what it is told unasked.

import type { MessagePort } from 'node:worker_threads';

import { assertNever } from '../../../domain/assert-never.ts';
import { type Answer, createOutbox, type FromLog, type Request, type ToLog } from './shared.ts';

export interface Told {
  onWake(): void;
  onOwned(member: number, partition: number, epoch: number): void;
  onReleasing(member: number, partition: number): void;
  onLost(member: number, partition: number): void;
  /** The connection is over, by whichever end. */
  onEnd(): void;
}

export interface Requests {
  /** The answer; `failed` when the connection ends before it comes. */
  ask(request: Request): Promise<Answer>;
  begin(request: Request): { readonly id: number; readonly answer: Promise<Answer> };
  isFull(): boolean;
  isClosed(): boolean;
  isIdle(): boolean;
  /** Resolves when every request is answered. */
  idle(): Promise<void>;
  close(): void;
}

/** Requests without an answer: as many events as the writer takes in 0.4 s of 26,000 a second, and what they hold. */
const openRequestsMax = 10_000;
const openBytesMax = 8 * 1024 * 1024;
const gone: Answer = { kind: 'failed', isStaleOwner: false, message: 'the connection to the event log ended' };

export function createRequests(port: MessagePort, told: Told): Requests {
  const outbox = createOutbox(port);
  const waiting = new Map<number, (answer: Answer) => void>();
  let openBytes = 0;
  let onIdle: (() => void)[] = [];
  let lastId = 0;
  let closed = false;

  const settle = (id: number, answer: Answer) => {
    waiting.get(id)?.(answer);
    waiting.delete(id);
    if (waiting.size > 0) return;
    for (const resolve of onIdle) resolve();
    onIdle = [];
  };

  const hear = (message: FromLog): void => {
    switch (message.kind) {
      case 'answer':
        return settle(message.id, message.answer);
      case 'owned':
        return told.onOwned(message.member, message.partition, message.epoch);
      case 'releasing':
        return told.onReleasing(message.member, message.partition);
      case 'lost':
        return told.onLost(message.member, message.partition);
      case 'wake':
        return told.onWake();
      default:
        return assertNever(message);
    }
  };

  const begin = (request: Request) => {
    const id = ++lastId;
    const answer = new Promise<Answer>((resolve) => {
      if (closed) return resolve(gone);
      const bytes = request.kind === 'append' ? request.bytes.length : 0;
      openBytes += bytes;
      waiting.set(id, (given) => {
        openBytes -= bytes;
        resolve(given);
      });
      outbox.send({ id, request } satisfies ToLog);
    });
    return { id, answer };
  };

  port.on('message', (messages: readonly FromLog[]) => messages.forEach(hear));
  port.on('close', () => {
    closed = true;
    for (const id of waiting.keys()) settle(id, gone);
    told.onEnd();
  });

  return {
    begin,
    ask: (request) => begin(request).answer,
    isFull: () => waiting.size >= openRequestsMax || openBytes >= openBytesMax,
    isClosed: () => closed,
    isIdle: () => waiting.size === 0,
    idle: () => (waiting.size === 0 ? Promise.resolve() : new Promise((resolve) => void onIdle.push(resolve))),
    close() {
      closed = true;
      port.close();
    },
  };
}

// How a thread is connected to the log that another one writes: what is handed over, and the messages between the two.

import type { MessagePort } from 'node:worker_threads';

import type { Partitioning, Topic } from '../../../domain/topics.ts';
import type { AppendResult, Trimmed, TrimmedRange } from '../../../ports/event-log.ts';
import type { OwnedCommit } from './claims.ts';

/** Can be sent to a worker, once; `port` belongs into the transfer list. */
export interface SharedEventLog {
  readonly path: string;
  readonly topics: readonly Topic[];
  readonly partitioning: Partitioning;
  readonly ends: SharedArrayBuffer;
  /** One Int32: 1 while the connected thread wants to be woken. */
  readonly asleep: SharedArrayBuffer;
  readonly port: MessagePort;
}

export type Request =
  | {
      readonly kind: 'append';
      readonly slot: number;
      readonly type: string;
      readonly fingerprint: string;
      readonly bytes: Uint8Array;
    }
  | { readonly kind: 'commit'; readonly commit: OwnedCommit }
  | { readonly kind: 'join'; readonly group: string }
  /** `member` is the id of the request that joined. */
  | { readonly kind: 'leave'; readonly member: number }
  /** The member has finished with a number that it was to release. */
  | { readonly kind: 'released'; readonly member: number; readonly partition: number }
  | { readonly kind: 'trim'; readonly range: TrimmedRange }
  /** From now on, and as long as the connection is there, the connected thread does the checkpoints. */
  | { readonly kind: 'checkpoints' }
  | { readonly kind: 'ready' };

export type Answer =
  | { readonly kind: 'appended'; readonly result: AppendResult }
  | { readonly kind: 'committed' }
  | { readonly kind: 'failed'; readonly isStaleOwner: boolean; readonly message: string }
  | { readonly kind: 'joined' }
  | { readonly kind: 'left' }
  | { readonly kind: 'noted' }
  | { readonly kind: 'trimmed'; readonly trimmed: Trimmed }
  | { readonly kind: 'readiness'; readonly ready: boolean };

export type ToLog = { readonly id: number; readonly request: Request };

export type FromLog =
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer }
  | { readonly kind: 'owned'; readonly member: number; readonly partition: number; readonly epoch: number }
  | { readonly kind: 'releasing'; readonly member: number; readonly partition: number }
  | { readonly kind: 'lost'; readonly member: number; readonly partition: number }
  | { readonly kind: 'wake' };

/** Sends all messages of one turn of the event loop as one list. */
export function createOutbox(port: MessagePort): { send(message: ToLog | FromLog): void } {
  let waiting: (ToLog | FromLog)[] = [];
  const post = () => {
    const messages = waiting;
    waiting = [];
    port.postMessage(messages);
  };
  return {
    send(message) {
      if (waiting.push(message) === 1) setImmediate(post);
    },
  };
}

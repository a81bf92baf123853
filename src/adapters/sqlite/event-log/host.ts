// The writing thread's end of a connection: does what the connected thread asks, and wakes it when it sleeps.

import type { MessagePort } from 'node:worker_threads';

import { assertNever } from '../../../domain/assert-never.ts';
import { type AppendResult, type EventLog, StaleOwnerError } from '../../../ports/event-log.ts';
import { type SchemaIds, schemaKey } from './catalog.ts';
import type { Groups } from './groups.ts';
import { type Answer, createOutbox, type FromLog, type Request, type SharedEventLog, type ToLog } from './shared.ts';
import type { Writer } from './writer.ts';

export interface HostDependencies {
  readonly port: MessagePort;
  readonly asleep: SharedEventLog['asleep'];
  readonly writer: Writer;
  readonly groups: Groups;
  readonly schemaIds: ReadonlyMap<string, SchemaIds>;
  readonly trim: EventLog['trim'];
  /** Called when the other end does the checkpoints, until `onEnd`. */
  onCheckpoints(): void;
  /** Called when the other end is gone. */
  onEnd(): void;
}

export interface Host {
  /** After each flush; costs a message only when the other thread sleeps. */
  wake(): void;
  close(): void;
}

export function createHost(deps: HostDependencies): Host {
  const { port, asleep, writer, groups, schemaIds, trim, onEnd } = deps;
  const flag = new Int32Array(asleep);
  const outbox = createOutbox(port);
  /** Calls that leave, by the id of the request that joined. */
  const members = new Map<number, () => void>();
  /** Of numbers that members were asked to release: the call that says that it is done. */
  const releases = new Map<string, () => void>();
  let closed = false;

  const send = (message: FromLog) => outbox.send(message);
  const answer = (id: number, given: Answer) => send({ kind: 'answer', id, answer: given });

  const append = (id: number, { slot, type, fingerprint, bytes }: Extract<Request, { kind: 'append' }>) => {
    const ids = schemaIds.get(schemaKey(type, fingerprint));
    const resolve = (result: AppendResult) => answer(id, { kind: 'appended', result });
    if (ids === undefined)
      return resolve({ kind: 'refused', reason: `the event log knows no schema ${fingerprint} of ${type}` });
    writer.append({ slot, ids, bytes, event: null, offset: -1, resolve });
  };

  const join = (member: number, group: string) => {
    const leave = groups.join(group, {
      owned: (partition, epoch) => send({ kind: 'owned', member, partition, epoch }),
      releasing: (partition) =>
        new Promise((resolve) => {
          releases.set(`${member} ${partition}`, resolve);
          send({ kind: 'releasing', member, partition });
        }),
      lost: (partition) => send({ kind: 'lost', member, partition }),
    });
    members.set(member, leave);
    answer(member, { kind: 'joined' });
  };

  const serve = ({ id, request }: ToLog): void => {
    switch (request.kind) {
      case 'append':
        return append(id, request);
      case 'commit':
        writer.commit(request.commit).then(
          () => answer(id, { kind: 'committed' }),
          (error: Error) =>
            answer(id, { kind: 'failed', isStaleOwner: error instanceof StaleOwnerError, message: error.message }),
        );
        return;
      case 'join':
        return join(id, request.group);
      case 'leave':
        members.get(request.member)?.();
        members.delete(request.member);
        return answer(id, { kind: 'left' });
      case 'released':
        releases.get(`${request.member} ${request.partition}`)?.();
        releases.delete(`${request.member} ${request.partition}`);
        return answer(id, { kind: 'noted' });
      case 'trim':
        trim(request.range).then(
          (trimmed) => answer(id, { kind: 'trimmed', trimmed }),
          (error: Error) => answer(id, { kind: 'failed', isStaleOwner: false, message: error.message }),
        );
        return;
      case 'checkpoints':
        deps.onCheckpoints();
        return answer(id, { kind: 'noted' });
      case 'ready':
        return answer(id, { kind: 'readiness', ready: writer.ready() });
      default:
        return assertNever(request);
    }
  };

  port.on('message', (messages: readonly ToLog[]) => {
    if (!closed) messages.forEach(serve);
  });
  port.on('close', () => {
    for (const leave of members.values()) leave();
    members.clear();
    onEnd();
  });
  // A connection alone is no reason for the process to go on.
  port.unref();

  return {
    wake() {
      if (Atomics.exchange(flag, 0, 0) === 1) port.postMessage([{ kind: 'wake' } satisfies FromLog]);
    },
    close() {
      closed = true;
      port.close();
    },
  };
}

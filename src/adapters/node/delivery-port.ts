// What delivering needs of the stores, in a thread that hasn't opened them: asked of the thread that has, over a port.
//
// That a tenant is to be forgotten is told over the same port, and counted in shared memory: `hear` takes in what was told and not heard yet, whatever the event
// loop is at, so nothing that was accepted after a change is sent by what was before it.

import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';

import { assertNever } from '../../domain/assert-never.ts';
import type { TenantId } from '../../domain/ids.ts';
import type { AskedCancel, Cancels } from '../../ports/cancels.ts';
import type { BreakerNote, SettingsChanges, SettingsStore, TenantSettings } from '../../ports/settings-store.ts';

export interface DeliveryStores {
  readonly settings: Pick<SettingsStore, 'settings' | 'changesSince' | 'noteBreakers'>;
  readonly cancels: Cancels;
}

/** Can be sent to a worker, once; `port` belongs into the transfer list. */
export interface SharedStores {
  readonly port: MessagePort;
  /** One Int32: how many tenants were told to be forgotten. */
  readonly forgotten: SharedArrayBuffer;
}

export interface StoresHost {
  readonly shared: SharedStores;
  forget(tenantId: TenantId): void;
  close(): void;
}

type Question =
  | { readonly kind: 'settings'; readonly tenantId: TenantId }
  | { readonly kind: 'changes'; readonly revision: number }
  | { readonly kind: 'breakers'; readonly notes: readonly BreakerNote[] }
  | { readonly kind: 'cancels'; readonly of: Parameters<Cancels['asked']> }
  | { readonly kind: 'ended'; readonly of: Parameters<Cancels['ended']> };
interface Asked {
  readonly id: number;
  readonly question: Question;
}
type Said =
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string }
  | { readonly kind: 'forget'; readonly tenantId: TenantId };

/** The end of the thread that has the stores. */
export function hostStores({ settings, cancels }: DeliveryStores): StoresHost {
  const { port1: port, port2 } = new MessageChannel();
  const forgotten = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const count = new Int32Array(forgotten);
  const say = (said: Said) => port.postMessage(said);

  const answer = (question: Question): Promise<unknown> => {
    switch (question.kind) {
      case 'settings':
        return settings.settings(question.tenantId);
      case 'changes':
        return settings.changesSince(question.revision);
      case 'breakers':
        return settings.noteBreakers(question.notes);
      case 'cancels':
        return cancels.asked(...question.of);
      case 'ended':
        return cancels.ended(...question.of);
      default:
        return assertNever(question);
    }
  };

  port.on('message', ({ id, question }: Asked) => {
    answer(question).then(
      (given) => say({ kind: 'answer', id, answer: given }),
      (error: unknown) => say({ kind: 'failed', id, message: error instanceof Error ? error.message : String(error) }),
    );
  });
  // A connection alone is no reason for the process to go on.
  port.unref();

  return {
    shared: { port: port2, forgotten },
    forget(tenantId) {
      say({ kind: 'forget', tenantId });
      Atomics.add(count, 0, 1);
    },
    close: () => port.close(),
  };
}

/** The end of the thread that asks. */
export interface RemoteStores extends DeliveryStores {
  /** Forgets whom it was told to; next to nothing when there is nobody. */
  hear(): void;
  close(): void;
}

export function askStores({ port, forgotten }: SharedStores, forget: (tenantId: TenantId) => void): RemoteStores {
  const told = new Int32Array(forgotten);
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let heard = 0;
  let lastId = 0;
  let isClosed = false;

  const take = (said: Said): void => {
    switch (said.kind) {
      case 'answer':
        waiting.get(said.id)?.resolve(said.answer);
        waiting.delete(said.id);
        return;
      case 'failed':
        waiting.get(said.id)?.reject(new Error(said.message));
        waiting.delete(said.id);
        return;
      case 'forget':
        heard = (heard + 1) | 0;
        return forget(said.tenantId);
      default:
        return assertNever(said);
    }
  };

  /** Whoever asks knows which kind of answer belongs to the question. */
  const ask = async <T>(question: Question): Promise<T> => {
    if (isClosed) throw new Error(gone);
    const id = ++lastId;
    const answer = Promise.withResolvers<unknown>();
    waiting.set(id, answer);
    port.postMessage({ id, question } satisfies Asked);
    return (await answer.promise) as T;
  };

  port.on('message', take);
  port.on('close', () => {
    isClosed = true;
    for (const { reject } of waiting.values()) reject(new Error(gone));
    waiting.clear();
  });

  return {
    settings: {
      settings: (tenantId) => ask<TenantSettings | null>({ kind: 'settings', tenantId }),
      changesSince: (revision) => ask<SettingsChanges>({ kind: 'changes', revision }),
      noteBreakers: (notes) => ask<void>({ kind: 'breakers', notes }),
    },
    cancels: {
      asked: (...of) => ask<readonly AskedCancel[]>({ kind: 'cancels', of }),
      ended: (...of) => ask<readonly AskedCancel[]>({ kind: 'ended', of }),
    },
    hear() {
      while (Atomics.load(told, 0) !== heard) {
        const next = receiveMessageOnPort(port);
        if (next === undefined) return;
        take(next.message as Said);
      }
    },
    close: () => port.close(),
  };
}

const gone = 'the thread that has the stores ended';

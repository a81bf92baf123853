// Waits of tenants' requests until a read model has what they ask for: however many of a tenant wait, and be it for what never comes, few of them look.
//
//   first look ──not there──> behind those who wait ──its turn at a change──> looks again ──there──> over, and the next looks at once
//                                 ^                                                └──not there──┐      └── as well where its time is up
//                                 └──────────────────────────────────────────────────────────────┘
//
// So what is there ends all that wait for it at one change, and what isn't costs four looks a change.

import type { TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { ReadModel } from '../projections/read-model.ts';
import type { TenantPosition } from '../projections/wait.ts';
import { isFolded, waitUntil } from '../projections/wait.ts';

/** As many as a tenant reads at once: of a tenant at once, and of those of a read model at each of its changes. */
const looksMax = 4;
/** A look that has waited for its place for so long isn't made: its store is slow, and would be slower. */
const placeWaitMs = 1000;

/** `written`: what the service knows to be in the log; `claimed`: what a caller says is there, by an id or a position that he may have made up. They have a line each. */
export type Awaited = 'written' | 'claimed';

export interface Waits {
  /** As `waitUntil`; a change may pass it over where over four of the tenant wait for what doesn't come. It looks when its time is up all the same. */
  until(of: Waiter, readModel: string, timeoutMs: number, isReached: () => Promise<boolean>): Promise<boolean>;
  /** `waitForPosition` in the same way. */
  forPosition(readModel: ReadModel, wanted: TenantPosition, timeoutMs: number, awaited: Awaited): Promise<boolean>;
}

export interface Waiter {
  readonly tenantId: TenantId;
  readonly awaited: Awaited;
}

interface Dependencies {
  readonly reader: ReadModelReader;
  readonly clock: Clock;
}

export function createWaits({ reader, clock }: Dependencies): Waits {
  const listening = createListening(reader);
  const inPlace = createPlaces();

  const until: Waits['until'] = (of, readModel, timeoutMs, isReached) => {
    const look = (): Promise<boolean> => {
      const latest = clock.monotonic() + placeWaitMs;
      return inPlace(of.tenantId, async () => clock.monotonic() <= latest && isReached());
    };
    return waitUntil({ reader: listening(of), clock }, readModel, timeoutMs, look);
  };
  return {
    until,
    forPosition: (readModel, wanted, timeoutMs, awaited) =>
      until({ tenantId: wanted.tenantId, awaited }, readModel.definition.name, timeoutMs, () =>
        isFolded(reader, readModel, wanted),
      ),
  };
}

/** Of each tenant's listeners a change calls those that were called longest ago, and who leaves calls the next. */
function createListening(reader: Pick<ReadModelReader, 'onChange'>) {
  const lines = new Map<string, Line>();

  const lineOf = ({ tenantId, awaited }: Waiter, readModel: string): Line => {
    const key = `${readModel} ${awaited} ${tenantId}`;
    const known = lines.get(key);
    if (known !== undefined) return known;
    const listeners: Line['listeners'] = new Set();
    const end = reader.onChange(readModel, () => callSome(listeners, looksMax));
    const line = {
      listeners,
      end() {
        lines.delete(key);
        end();
      },
    };
    lines.set(key, line);
    return line;
  };

  return (of: Waiter): Pick<ReadModelReader, 'onChange'> => ({
    onChange(readModel, listener) {
      const { listeners, end } = lineOf(of, readModel);
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) end();
        else callSome(listeners, 1);
      };
    },
  });
}

interface Line {
  /** Of one tenant, read model and kind; who was called last stands last. */
  readonly listeners: Set<() => void>;
  end(): void;
}

function callSome(listeners: Line['listeners'], max: number): void {
  let left = Math.min(max, listeners.size);
  for (const listener of listeners) {
    if (left-- === 0) return;
    listeners.delete(listener);
    listeners.add(listener);
    listener();
  }
}

/** Work of a tenant, so much of it at once, the rest in its order. */
function createPlaces() {
  const tenants = new Map<TenantId, { taken: number; readonly waiting: (() => void)[] }>();

  return async <T>(tenantId: TenantId, work: () => Promise<T>): Promise<T> => {
    const places = tenants.get(tenantId) ?? { taken: 0, waiting: [] };
    tenants.set(tenantId, places);
    if (places.taken >= looksMax) await new Promise<void>((resolve) => places.waiting.push(resolve));
    else places.taken++;
    try {
      return await work();
    } finally {
      // The place goes to the next one, if there is one.
      const next = places.waiting.shift();
      if (next !== undefined) next();
      else if (--places.taken === 0) tenants.delete(tenantId);
    }
  };
}

// What tenants have just written through this process: their reads wait for it, so that a read follows its caller's own write without a header.

import type { NotificationId, TenantId } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-log.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { inboxReadModel } from '../projections/inbox/index.ts';
import { itemsByIds } from '../projections/inbox/queries.ts';
import type { ReadModel } from '../projections/read-model.ts';
import type { Waits } from './waits.ts';

/** A read waits until the write is so old, and a write that is older is waited for no longer. */
export const ownWriteWaitMs = 2000;

export interface OwnWrites {
  /** An event of the tenant is in the log. */
  note(tenantId: TenantId, position: Position): void;
  /** The same of many. */
  noteAll(tenantId: TenantId, positions: readonly Position[]): void;
  /** Of an in-app item that is delivered at once: it is in the inbox when that has its delivery, a later event. */
  noteItem(tenantId: TenantId, recipient: string, id: NotificationId): void;
  /** Waits until these read models have what the tenant wrote; those that may lag aren't waited for. */
  follow(tenantId: TenantId, readModels: readonly ReadModel[]): Promise<void>;
  /** Waits until the recipient's inbox shows what the tenant wrote. */
  followInbox(tenantId: TenantId, recipient: string): Promise<void>;
}

export function createOwnWrites({ reader, waits, clock }: Dependencies): OwnWrites {
  // Two generations, each of ownWriteWaitMs at least: whatever is younger is in one of them, and nothing has to be looked for to be forgotten.
  let current: Generation = new Map();
  let former: Generation = new Map();
  let since = clock.monotonic();
  let count = 0;

  const turn = (): void => {
    const age = clock.monotonic() - since;
    if (age < ownWriteWaitMs && count < notedMax) return;
    former = age < 2 * ownWriteWaitMs ? current : new Map();
    current = new Map();
    since = clock.monotonic();
    count = 0;
  };
  const writesOf = (tenantId: TenantId): TenantWrites => {
    turn();
    const known = current.get(tenantId);
    if (known !== undefined) return known;
    const writes: TenantWrites = { positions: new Map(), items: new Map() };
    current.set(tenantId, writes);
    return writes;
  };
  const recentOf = (tenantId: TenantId): readonly TenantWrites[] => {
    turn();
    return [former.get(tenantId), current.get(tenantId)].filter((writes) => writes !== undefined);
  };
  const leftMs = (at: number): number => at + ownWriteWaitMs - clock.monotonic();

  const note = (tenantId: TenantId, position: Position): void => {
    const { positions } = writesOf(tenantId);
    const key = `${position.topic}:${position.partition}`;
    const last = positions.get(key);
    if (last === undefined) count++;
    else if (last.position.offset > position.offset) return;
    positions.set(key, { position, at: clock.monotonic(), seenBy: new Set() });
  };

  return {
    note,
    noteAll(tenantId, positions) {
      for (const position of lastOfEach(positions)) note(tenantId, position);
    },

    noteItem(tenantId, recipient, id) {
      const { items } = writesOf(tenantId);
      const ofRecipient = items.get(recipient) ?? new Map<NotificationId, number>();
      items.set(recipient, ofRecipient);
      ofRecipient.set(id, clock.monotonic());
      count++;
    },

    async follow(tenantId, readModels) {
      const recent = recentOf(tenantId);
      for (const readModel of readModels) {
        if (readModel.mayLag === true) continue;
        for (const { positions } of recent) {
          for (const write of positions.values()) await followOne(tenantId, readModel, write);
        }
      }
    },

    async followInbox(tenantId, recipient) {
      for (const { items } of recentOf(tenantId)) {
        const ofRecipient = items.get(recipient);
        if (ofRecipient === undefined) continue;
        const newest = [...ofRecipient].slice(-itemsPerReadMax);
        const leftToWaitMs = leftMs(newest.at(-1)?.[1] ?? -Infinity);
        if (leftToWaitMs <= 0) continue;
        const ids = newest.map(([id]) => id);
        const areShown = async () => (await itemsByIds(reader, tenantId, recipient, ids)).size === ids.length;
        if (
          !(await waits.until({ tenantId, awaited: 'written' }, inboxReadModel.definition.name, leftToWaitMs, areShown))
        )
          continue;
        for (const id of ids) ofRecipient.delete(id);
      }
    },
  };

  async function followOne(
    tenantId: TenantId,
    readModel: ReadModel,
    { position, at, seenBy }: NotedPosition,
  ): Promise<void> {
    const { name } = readModel.definition;
    if (seenBy.has(name) || leftMs(at) <= 0) return;
    const wanted = { ...position, tenantId };
    if (await waits.forPosition(readModel, wanted, leftMs(at), 'written')) seenBy.add(name);
  }
}

/** Of each partition: whoever waits for it waits for those before it. */
function lastOfEach(positions: readonly Position[]): readonly Position[] {
  const last: Position[] = [];
  for (const position of positions) {
    const at = last.findIndex(({ topic, partition }) => partition === position.partition && topic === position.topic);
    if (at < 0) last.push(position);
    // Items that have keys are appended by themselves, and some were before.
    else if (position.offset > (last[at]?.offset ?? -1)) last[at] = position;
  }
  return last;
}

interface Dependencies {
  readonly reader: ReadModelReader;
  readonly waits: Waits;
  readonly clock: Clock;
}

/** Of a generation, over all tenants; past it the oldest are forgotten sooner. Two of 10,000 of 200 bytes are 4 MiB. */
const notedMax = 10_000;
/** A read asks for so many items of a recipient at most, the newest. */
const itemsPerReadMax = 100;

type Generation = Map<TenantId, TenantWrites>;

interface TenantWrites {
  /** The last one of each topic and number: a tenant has two numbers of 14 topics. */
  readonly positions: Map<string, NotedPosition>;
  /** By recipient, when each was written. */
  readonly items: Map<string, Map<NotificationId, number>>;
}

interface NotedPosition {
  readonly position: Position;
  readonly at: number;
  /** Read models that have it: reads after the first ask nothing. */
  readonly seenBy: Set<string>;
}

// The next version of a read model beside the one in use, as MongoDB keeps them: each step that is a write of its own there is one here, so that whoever does them
// can be killed, or sleep, between any two. What is in use stands under the read model's own name.

import type { BesideComparison, HeldVersions, RebuildableStore } from '../../src/ports/read-model-rebuild.ts';
import type { NextVersionStore } from '../../src/ports/read-model-rebuild.ts';
import type { ReadModelDefinition } from '../../src/ports/read-model-store.ts';
import type { StoredPosition, StoredReadModels } from './store.ts';
import { keyOfNumber } from './store.ts';

/** Of one read model. */
export interface Versions {
  last: number;
  next: { readonly version: number; holds: number; isHeld: boolean } | null;
}

/** Who a store of a next version is for: whoever fills it, or whoever holds it. */
export interface OfNext {
  readonly readModel: string;
  readonly version: number;
  /** null: nobody who holds it. */
  readonly hold: number | null;
}

function versionsOf(stored: StoredReadModels, readModel: string): Versions {
  const known = stored.versions.get(readModel);
  if (known !== undefined) return known;
  const made: Versions = { last: 1, next: null };
  stored.versions.set(readModel, made);
  return made;
}

/** Under which what belongs to a next version is stored. */
export function nameIn(of: OfNext | null, name: string): string {
  return of === null ? name : `${name}@${of.version}`;
}

/** It is the next version still, and nobody else's. */
export function mayMove(stored: StoredReadModels, { readModel, version, hold }: OfNext): boolean {
  const { next } = versionsOf(stored, readModel);
  if (next?.version !== version) return false;
  return hold === null ? !next.isHeld : next.isHeld && next.holds === hold;
}

export function createVersions(by: {
  readonly stored: StoredReadModels;
  readonly partitions: number;
  readonly ask: <T>(serve: () => T) => Promise<T>;
  readonly storeOf: (of: OfNext) => NextVersionStore;
  readonly fault: (text: string) => void;
}): RebuildableStore {
  const { stored, partitions, ask, storeOf, fault } = by;

  const keysOf = (readModel: string): string[] =>
    Array.from({ length: partitions }, (_, partition) => keyOfNumber(readModel, partition));
  const positionsIn = (readModel: string): StoredPosition[] =>
    keysOf(readModel).flatMap((key) => stored.positions.get(key) ?? []);
  const raiseEpochs = (readModel: string): void => {
    for (const position of positionsIn(readModel)) position.epoch++;
  };
  const fence = (readModel: string, isFenced: boolean): void => {
    for (const key of keysOf(readModel)) {
      const position = stored.positions.get(key);
      if (position === undefined) continue;
      if (isFenced) position.epoch++;
      position.isFenced = isFenced;
    }
  };

  const unfenceUnheld = (readModel: string) =>
    ask(() => {
      if (versionsOf(stored, readModel).next?.isHeld !== true) fence(readModel, false);
    });

  function drop({ name, collections }: ReadModelDefinition, version: number): void {
    const of = { readModel: name, version, hold: null };
    for (const collection of collections) stored.collections.delete(nameIn(of, collection.name));
    for (const key of keysOf(nameIn(of, name))) stored.positions.delete(key);
  }

  /** All or nothing. What was shown is there after it as well. */
  function comeIntoUse({ name, collections }: ReadModelDefinition, version: number): void {
    const of = { readModel: name, version, hold: null };
    for (const [partition, key] of keysOf(name).entries()) {
      const before = stored.positions.get(key);
      const after = stored.positions.get(keyOfNumber(nameIn(of, name), partition));
      for (const [topic, offset] of before?.offsets ?? [])
        if ((after?.offsets.get(topic) ?? 0) < offset)
          fault(`${name} is swapped at ${after?.offsets.get(topic)} of ${topic}/${partition}, and was at ${offset}`);
      if (before?.ahead != null)
        fault(`${name} is swapped, and of number ${partition} some was folded before its turn`);
      if (after === undefined) continue;
      after.epoch = 1 + Math.max(after.epoch, before?.epoch ?? 0);
      after.isFenced = false;
      stored.positions.set(key, after);
    }
    for (const collection of collections) {
      const documents = stored.collections.get(nameIn(of, collection.name)) ?? new Map();
      stored.collections.set(collection.name, documents);
    }
    drop({ name, collections }, version);
    versionsOf(stored, name).next = null;
  }

  async function hold(definition: ReadModelDefinition, version: number): Promise<HeldVersions | null> {
    const { name } = definition;
    const versions = versionsOf(stored, name);
    const own = await ask(() => {
      if (versions.next?.version !== version) return null;
      versions.next.isHeld = true;
      return ++versions.next.holds;
    });
    if (own === null) return null;
    const of: OfNext = { readModel: name, version, hold: own };
    await ask(() => fence(name, true));
    await ask(() => raiseEpochs(nameIn(of, name)));
    const isOwn = () => mayMove(stored, of);
    return {
      next: storeOf(of),
      async swap() {
        if (!(await ask(isOwn))) return 'over';
        await ask(() => raiseEpochs(nameIn(of, name)));
        const isSwapped = await ask(() => {
          if (!isOwn()) return false;
          comeIntoUse(definition, version);
          return true;
        });
        if (!isSwapped) return 'over';
        await ask(() => {
          for (const tell of stored.listeners.get(name) ?? []) tell();
        });
        return 'swapped';
      },
      async release() {
        await ask(() => {
          if (isOwn() && versions.next !== null) versions.next.isHeld = false;
        });
        await unfenceUnheld(name);
      },
    };
  }

  const notHere = (what: string) => Promise.reject(new Error(`nobody ${what} here`));
  let compared: BesideComparison | null = null;
  return {
    async beginRebuild(definition) {
      const { name } = definition;
      const versions = versionsOf(stored, name);
      await ask(() => {
        const { next } = versions;
        versions.next = null;
        if (next === null) return;
        fence(name, false);
        drop(definition, next.version);
      });
      return ask(() => {
        versions.next = { version: ++versions.last, holds: 0, isHeld: false };
        return storeOf({ readModel: name, version: versions.last, hold: null });
      });
    },
    nextVersion: ({ name }) => ask(() => versionsOf(stored, name).next?.version ?? null),
    resumeRebuild: ({ name }) =>
      ask(() => {
        const { next } = versionsOf(stored, name);
        if (next === null) throw new Error(`no rebuild of ${name} was begun`);
        return storeOf({ readModel: name, version: next.version, hold: null });
      }),
    hold,
    async letGo({ name }, version) {
      await ask(() => {
        const { next } = versionsOf(stored, name);
        if (next?.version !== version || !next.isHeld) return;
        next.holds++;
        next.isHeld = false;
      });
      await unfenceUnheld(name);
    },
    removeRetired: () => ask(() => 'done' as const),
    async noteComparison(readModel, comparison) {
      await ask(() => void (compared = comparison));
      if (comparison.differing > 0)
        fault(`${readModel} is otherwise once it is rebuilt: ${JSON.stringify(comparison)}`);
    },
    lastComparison: () => ask(() => compared),
    compare: () => notHere('compares'),
    swap: () => notHere('swaps what is not held'),
    abandon: () => notHere('abandons'),
  };
}

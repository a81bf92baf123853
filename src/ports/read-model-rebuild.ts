// Rebuilding a read model: its next version is filled beside the one in use, compared with it at equal positions and swapped in.
//
//   beginRebuild ──> own + transact on the store of version n+1 ──> compare ──> (hold) ──> swap ──> removeRetired
//     └──interrupted──> resumeRebuild ──┘                                 └───> abandon

import type { ReadModelDefinition, ReadModelStore } from './read-model-store.ts';

export interface RebuildComparison {
  /** Every document byte for byte the same, ids included; null: the two versions stand at different positions, so nothing was compared. */
  readonly equal: boolean | null;
  /** Documents of the new version, all collections. */
  readonly documents: number;
  /** The first few that differ or that one version lacks, as `collection/id`. */
  readonly differing: readonly string[];
}

/** Every call rejects with an Error when the store is away. */
export interface RebuildableStore {
  /**
   * An empty next version, in place of whatever an earlier attempt left. Only this read model can be used through the store that it gives;
   * closing that store keeps the version.
   */
  beginRebuild(definition: ReadModelDefinition): Promise<ReadModelStore>;
  /** The version in use against the next one. @throws Error when no rebuild was begun */
  compare(definition: ReadModelDefinition): Promise<RebuildComparison>;
  /** The number of the next version that was begun, by whichever process; null: there is none. */
  nextVersion(definition: ReadModelDefinition): Promise<number | null>;
  /** The store of the next version as it was left. @throws Error when no rebuild was begun */
  resumeRebuild(definition: ReadModelDefinition): Promise<ReadModelStore>;
  /**
   * Until the swap nobody moves the version in use: its owners are refused, and so is whoever wants to own it, with StaleOwnerError. For the moment in which
   * the next version comes level with it.
   */
  hold(definition: ReadModelDefinition): Promise<void>;
  /** All or nothing: the next version becomes the one in use, the old one is retired. @throws Error when no rebuild was begun */
  swap(definition: ReadModelDefinition): Promise<void>;
  /** Removes the retired version, some ms of work at a time: to be called until it says `done`, once no query can be in it. */
  removeRetired(definition: ReadModelDefinition): Promise<'more' | 'done'>;
  /** Removes the next version; nothing happens when there is none. */
  abandon(definition: ReadModelDefinition): Promise<void>;
}

// Rebuilding a read model: its next version is filled beside the one in use, compared with it at equal positions and swapped in.
//
//   beginRebuild ──> own + transact on the store of version n+1 ──> compare ──> swap
//                                                                         └───> abandon

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
  /** All or nothing: the next version becomes the one in use, the old one is removed. @throws Error when no rebuild was begun */
  swap(definition: ReadModelDefinition): Promise<void>;
  /** Removes the next version; nothing happens when there is none. */
  abandon(definition: ReadModelDefinition): Promise<void>;
}

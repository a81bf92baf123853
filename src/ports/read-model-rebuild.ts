// Rebuilding a read model: its next version is filled beside the one in use, compared with it at equal positions and swapped in.
//
//   beginRebuild ──> own + transact on the store of version n+1 ──> compare ──> swap ──> removeRetired
//     └──interrupted──> resumeRebuild ──┘     └──while others fold──> hold ──> level ──> swap of what is held
//                                                                             └───> abandon, release

import type { DocumentScan } from './document-scan.ts';
import type { IndexesMade, ReadModelDefinition, ReadModelStore } from './read-model-store.ts';

export interface RebuildComparison {
  /** Every document byte for byte the same, ids included; null: the two versions stand at different positions, so nothing was compared. */
  readonly equal: boolean | null;
  /** Documents of the new version, all collections. */
  readonly documents: number;
  /** The first few that differ or that one version lacks, as `collection/id`. */
  readonly differing: readonly string[];
}

/** What a read model that was filled beside another has otherwise than that. */
export interface BesideComparison {
  /** UTC ms. */
  readonly at: number;
  /** Documents that were held against each other. */
  readonly compared: number;
  readonly differing: number;
  /** `collection.field` of those that differ, with their count, and examples without a text of anybody's. */
  readonly fields: readonly (readonly [field: string, documents: number])[];
  readonly examples: readonly string[];
}

/** A version in use and its next one, in one holder's hands. Every call rejects with an Error when the store is away. */
export interface HeldVersions {
  /** The next version, which may be owned and moved through this store alone. Closing it keeps the version. */
  readonly next: NextVersionStore;
  /** As `swap` does; `over` when somebody else holds the versions by now, or has swapped them: nothing was changed. */
  swap(): Promise<'swapped' | 'over'>;
  /** They may be owned again; nothing happens when somebody else holds them by now, or has swapped them. */
  release(): Promise<void>;
}

/** Of a version that nobody reads yet. */
export type NextVersionStore = ReadModelStore & DocumentScan;

/** Every call rejects with an Error when the store is away. */
export interface RebuildableStore {
  /**
   * An empty next version, in place of whatever an earlier attempt left. Only this read model can be used through the store that it gives;
   * closing that store keeps the version.
   * @param indexes at once unless said; `once filled`: whoever swaps it says noteCaughtUp to that store before
   */
  beginRebuild(definition: ReadModelDefinition, indexes?: IndexesMade): Promise<NextVersionStore>;
  /** The version in use against the next one. @throws Error when no rebuild was begun */
  compare(definition: ReadModelDefinition): Promise<RebuildComparison>;
  /** The number of the next version that was begun, by whichever process; null: there is none. */
  nextVersion(definition: ReadModelDefinition): Promise<number | null>;
  /** The store of the next version as it was left, with all its indexes. @throws Error when no rebuild was begun */
  resumeRebuild(definition: ReadModelDefinition): Promise<NextVersionStore>;
  /**
   * Until it is released or swapped nobody else moves the version in use nor the next one: their owners are refused with StaleOwnerError, and whoever wants
   * to own a number of them with HeldError; queries go on. For the moment in which the next version comes level. Whoever holds later has it instead.
   * @param version of the next one @returns null when that isn't the next version any more
   */
  hold(definition: ReadModelDefinition, version: number): Promise<HeldVersions | null>;
  /** Takes both from whoever holds them, who may be gone, and releases them; nothing happens where nobody does, or `version` isn't the next one any more. */
  letGo(definition: ReadModelDefinition, version: number): Promise<void>;
  /** All or nothing: the next version becomes the one in use, the old one is retired. @throws Error when no rebuild was begun */
  swap(definition: ReadModelDefinition): Promise<void>;
  /** Removes the retired version, some ms of work at a time: to be called until it says `done`, once no query can be in it. */
  removeRetired(definition: ReadModelDefinition): Promise<'more' | 'done'>;
  /** Keeps what the last comparison beside a service has found, for whoever watches. */
  noteComparison(readModel: string, comparison: BesideComparison): Promise<void>;
  /** null: none was noted. */
  lastComparison(readModel: string): Promise<BesideComparison | null>;
  /** Removes the next version; nothing happens when there is none. */
  abandon(definition: ReadModelDefinition): Promise<void>;
}

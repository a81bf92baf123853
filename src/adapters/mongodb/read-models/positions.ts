// Positions as they are stored: a document for each partition number of each version, the offsets as JSON text in one spelling, so that a comparison of
// texts is one of positions.

import type { Binary, Collection, Db, Filter } from 'mongodb';

import type { Topic } from '../../../domain/topics.ts';
import type { ModelVersion } from './versions.ts';

export interface PositionDocument {
  /** readModel:version:partition */
  readonly _id: string;
  readonly partition: number;
  /** One more for each owner. */
  readonly epoch: number;
  /** Of the claim by whose right the owner took it over; absent in those of before there were any. */
  readonly generation?: number;
  /** One more for each transaction: tells whether one whose answer was lost was applied. */
  readonly sequence: number;
  readonly offsets: string;
  /** What is folded before its turn, as text; absent: nothing. */
  readonly ahead?: string;
  /** The owner's session, for whoever takes over to end. */
  readonly lsid: Binary;
  /** Its version was swapped out: nobody may own it any more. */
  readonly retired?: true;
}

export function positionsOf(db: Db): Collection<PositionDocument> {
  return db.collection<PositionDocument>('read_model_positions');
}

export function positionId({ name, version }: Pick<ModelVersion, 'name' | 'version'>, partition: number): string {
  return `${name}:${version}:${partition}`;
}

/** Of the id of a position. */
export function readModelOf(id: string): { readonly readModel: string; readonly version: number } {
  const [readModel = '', version] = id.split(':');
  return { readModel, version: Number(version) };
}

/** All positions of a version. */
export function ofVersion({ name, version }: Pick<ModelVersion, 'name' | 'version'>): Filter<PositionDocument> {
  // A semicolon is the character after the colon.
  return { _id: { $gte: `${name}:${version}:`, $lt: `${name}:${version};` } };
}

export function offsetsText(offsets: ReadonlyMap<Topic, number>): string {
  return JSON.stringify(Object.fromEntries([...offsets].sort(([a], [b]) => (a < b ? -1 : 1))));
}

export function offsetsOf(text: string): Map<Topic, number> {
  return new Map(Object.entries(JSON.parse(text) as Record<string, number>));
}

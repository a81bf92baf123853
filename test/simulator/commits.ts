// What the commits of dispatchers say of their work: what is finished by one is so by all that come after it. Otherwise whoever has the number next sends it
// again, as soon as its outcome is further back than he looks.

import { decodeFinished } from '../../src/dispatchers/finished-bitmap.ts';
import { decodePosition, tenantKey } from '../../src/dispatchers/position-text.ts';
import { saysFinished } from '../../src/dispatchers/laggard.ts';
import type { TenantKey } from '../../src/dispatchers/laggard.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { CommittedPosition, LogEntry } from '../../src/ports/event-log.ts';

export interface Commit extends CommittedPosition {
  readonly topic: string;
  readonly partition: number;
}

export type CommitWitness = (commit: Commit, entries: readonly LogEntry[]) => void;

export function createCommitWitness(fault: (text: string) => void): CommitWitness {
  const said = new Map<string, readonly LogEntry[]>();
  const keys = new Map<TenantId, TenantKey>();
  const keyOf = (tenantId: TenantId): TenantKey => {
    const key = keys.get(tenantId) ?? tenantKey(tenantId);
    keys.set(tenantId, key);
    return key;
  };

  return ({ topic, partition, ...position }, entries) => {
    const { window, laggards } = decodePosition(position);
    const lagging = new Map(laggards.map((laggard) => [laggard.key, laggard]));
    const beyond = new Set(decodeFinished(window.offset, window.metadata));
    const isFinished = ({ offset, head }: LogEntry): boolean => {
      const laggard = head === null ? undefined : lagging.get(keyOf(head.tenantId));
      if (laggard === undefined) return offset < window.offset || beyond.has(offset);
      return saysFinished(laggard, offset);
    };
    const place = `${topic}/${partition}`;
    const forgotten = said.get(place)?.find((entry) => !isFinished(entry));
    if (forgotten !== undefined)
      fault(`a commit of ${place} says no more that ${forgotten.offset} is finished: ${JSON.stringify(position)}`);
    said.set(place, entries.filter(isFinished));
  };
}

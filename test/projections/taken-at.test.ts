// Since when an event waits, by a clock that may have been set back.

import { describe, expect, it } from '@jest/globals';

import type { LogEntry } from '../../src/ports/event-log.ts';
import { keepsOthersWaiting } from '../../src/projections/fold-ahead.ts';
import { takenAt } from '../../src/projections/taken-at.ts';

const now = 1_800_000_000_000;
const hourMs = 3_600_000;

const entryAt = (appendedAt: number, occurredAt: number): LogEntry => {
  const head = { occurredAt };
  return { appendedAt, head, event: head, size: 400 } as unknown as LogEntry;
};

describe('since when an event waits', () => {
  it('is since the log took it', () => {
    expect(takenAt(entryAt(now - 70, now - 90), now)).toBe(now - 70);
  });

  it('is since it happened where the log is ahead, because the clock was set back', () => {
    expect(takenAt(entryAt(now + hourMs, now - 90), now)).toBe(now - 90);
  });

  it('is not before it was taken where nobody knows better', () => {
    expect(takenAt(entryAt(now + hourMs, now + hourMs + 5), now)).toBe(now + hourMs);
    expect(takenAt({ appendedAt: now + hourMs, head: null }, now)).toBe(now + hourMs);
  });

  it('others are not kept waiting by a flood, though the clock was set back', () => {
    const flood = (appendedAt: number, occurredAt: number) =>
      Array.from({ length: 2_000 }, () => entryAt(appendedAt, occurredAt));
    expect(keepsOthersWaiting(flood(now - 600, now - 610), now)).toBe(true);
    expect(keepsOthersWaiting(flood(now + hourMs, now - 610), now)).toBe(true);
    expect(keepsOthersWaiting(flood(now + hourMs, now - 100), now)).toBe(false);
  });
});

// The machine's clock: randomness that never repeats, sleep that ends early and never rejects.

import { describe, expect, it } from '@jest/globals';

import { createClock } from '../../../src/adapters/node/clock.ts';
import { uuidText } from '../../../src/domain/ids.ts';

describe('the clock', () => {
  const clock = createClock();

  it('hands out random bytes once each, of any length, and keeps none of them', () => {
    const drawn = Array.from({ length: 2000 }, () => Buffer.from(clock.randomBytes(16)).toString('hex'));
    expect(new Set(drawn).size).toBe(2000);
    expect(drawn).not.toContain('0'.repeat(32));
    expect(clock.randomBytes(10_000)).toHaveLength(10_000);
    expect(clock.randomBytes(0)).toHaveLength(0);
    const kept = clock.randomBytes(8);
    const before = kept.toString();
    for (let i = 0; i < 1000; i++) clock.randomBytes(16);
    expect(kept.toString()).toBe(before);
  });

  it('makes UUIDs of version 7 that say the time and never repeat', () => {
    const before = Date.now();
    const made = Array.from({ length: 2000 }, () => uuidText(clock.uuidV7()));
    expect(new Set(made).size).toBe(2000);
    for (const uuid of made) {
      expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      const time = Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16);
      expect(time).toBeGreaterThanOrEqual(before);
      expect(time).toBeLessThanOrEqual(Date.now());
    }
  });

  it('sleeps for as long as it is told, or until its signal aborts', async () => {
    const begun = clock.monotonic();
    await clock.sleep(20);
    expect(clock.monotonic() - begun).toBeGreaterThan(15);
    const abort = new AbortController();
    const asleep = clock.sleep(60_000, abort.signal);
    abort.abort();
    await asleep;
    await clock.sleep(60_000, abort.signal);
    await clock.sleep(-5);
    expect(clock.monotonic() - begun).toBeLessThan(20_000);
  });

  it('draws random numbers in [0, 1)', () => {
    const drawn = Array.from({ length: 1000 }, () => clock.random());
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...drawn)).toBeLessThan(1);
    expect(new Set(drawn).size).toBeGreaterThan(990);
  });
});

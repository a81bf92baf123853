// One tenant's flood is nobody else's delay.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { nextTurn } from '../../src/dispatchers/next-turn.ts';
import { priorities } from '../../src/domain/events.ts';
import type { NotificationRequested, Priority } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { ordinaryShare } from '../../src/domain/tenant.ts';
import { until } from '../support/until.ts';
import { delivered, makeWorld, outcomesOf, settingsOf } from './harness.ts';
import type { ProcessOptions, Send, World } from './harness.ts';
import { requested } from './work-events.ts';

let world: World;

beforeEach(async () => {
  world = await makeWorld();
});

afterEach(() => world.close());

const flood = (count: number) =>
  Array.from({ length: count }, () => requested({ tenant: 'tnt_flood', priority: 'BULK' }));
const slowly: Send = () => new Promise((resolve) => setTimeout(resolve, 2, delivered));

describe('a flood of 2,000 BULK of one tenant', () => {
  it("leaves another tenant's HIGH next in line", async () => {
    const { sends } = await world.run({ send: slowly, limits: { inFlightMax: 8, inFlightPerTenantProviderMax: 4 } });
    await world.append(flood(2000));
    await until(() => sends.length > 100);
    const before = sends.length;
    const urgent = Array.from({ length: 10 }, () => requested({ tenant: 'tnt_b', priority: 'HIGH' }));
    await world.append(urgent);
    await until(() => outcomesOf(world.said).filter(({ priority }) => priority === 'HIGH').length === 10);
    const last = sends.findLastIndex(({ tenantId }) => String(tenantId) === 'tnt_b');
    expect(last - before).toBeLessThan(100);
    expect(sends.length).toBeLessThan(2000);
  });

  it("shares its own lane by turns: another tenant's 20 BULK are sent while 1,900 of it still wait", async () => {
    const { sends } = await world.run({ send: slowly, limits: { inFlightMax: 4 } });
    await world.append(flood(2000));
    await until(() => sends.length > 20);
    const before = sends.length;
    await world.append(Array.from({ length: 20 }, () => requested({ tenant: 'tnt_b', priority: 'BULK' })));
    await until(() => outcomesOf(world.said).filter(({ tenantId }) => String(tenantId) === 'tnt_b').length === 20);
    const last = sends.findLastIndex(({ tenantId }) => String(tenantId) === 'tnt_b');
    expect(last - before).toBeLessThan(100);
  });
});

describe('what was just read', () => {
  const one = (priority: Priority) => requested({ tenant: 'tnt_b', priority, recipient: 'https://example.com/one' });
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  /** How many are being sent before the event loop goes on, of some that are appended together while nothing else waits. */
  const sentAtOnce = async (events: readonly NotificationRequested[]): Promise<number> => {
    const { sends } = await world.run();
    // Each lane has been read from, and its readers are asleep.
    for (const priority of priorities) await world.append([one(priority)]);
    await until(() => outcomesOf(world.said).length === priorities.length);
    for (let i = 0; i < 10; i++) await turn();
    const before = sends.length;
    await world.append(events);
    for (let i = 0; i < 500; i++) await Promise.resolve();
    const begun = sends.length - before;
    await until(() => sends.length === before + events.length);
    return begun;
  };

  it('is sent in the same turn of the event loop where it is HIGH', async () => {
    expect(await sentAtOnce([one('HIGH')])).toBe(1);
  });

  it('is sent in the next one where it is not', async () => {
    expect(await sentAtOnce([one('DEFAULT'), one('BULK')])).toBe(0);
  });

  it('is sent a few in a turn, however much HIGH there is', async () => {
    expect(await sentAtOnce(Array.from({ length: 30 }, () => one('HIGH')))).toBe(4);
  });
});

describe('slow tenants whose BULK and DEFAULT are more than is read ahead', () => {
  /** Of tenants alike, those that share no partition number with the first. */
  function others(count: number, of: string): string[] {
    const taken = new Set(numbersOf(of));
    return Array.from({ length: 1000 }, (_, i) => `tnt_slow_${i}`)
      .filter((tenant) => !numbersOf(tenant).some((number) => taken.has(number)))
      .slice(0, count);
  }

  const numbersOf = (tenant: string) => Array.from({ length: 20 }, () => requested({ tenant }).partition);

  it("don't stop another's HIGH on other numbers, nor its BULK", async () => {
    const neverAnswered: Send = ({ tenantId }) =>
      String(tenantId) === 'tnt_fast' ? Promise.resolve(delivered) : new Promise(() => {});
    const { sends } = await world.run({ send: neverAnswered });
    const body = 'x'.repeat(20_000);
    for (const tenant of others(5, 'tnt_fast')) {
      for (const priority of ['BULK', 'DEFAULT'] as const) {
        await world.append(Array.from({ length: 120 }, () => requested({ tenant, priority, body })));
      }
    }
    await until(() => sends.length > 80);
    // One after another: what a reader was allowed before the others' flood came says nothing.
    for (let said = 1; said <= 40; said++) {
      await world.append([requested({ tenant: 'tnt_fast', priority: said % 2 === 0 ? 'HIGH' : 'BULK' })]);
      await until(() => outcomesOf(world.said).length === said);
    }
    expect(new Set(outcomesOf(world.said).map(({ tenantId }) => String(tenantId)))).toEqual(new Set(['tnt_fast']));
  });
});

describe('the caps', () => {
  it("leave a quarter to HIGH: however many tenants' BULK and DEFAULT are slow, another's HIGH is sent", async () => {
    const send: Send = ({ tenantId }) =>
      String(tenantId) === 'tnt_fast' ? Promise.resolve(delivered) : new Promise(() => {});
    const { sends } = await world.run({ send, limits: { inFlightMax: 8, inFlightHighOnly: 2 } });
    for (let i = 0; i < 20; i++) {
      await world.append([requested({ tenant: `tnt_${i}`, priority: i % 2 === 0 ? 'BULK' : 'DEFAULT' })]);
    }
    await until(() => sends.length === 6);
    await world.append(Array.from({ length: 20 }, () => requested({ tenant: 'tnt_fast', priority: 'HIGH' })));
    await until(() => outcomesOf(world.said).length === 20);
    expect(sends.length).toBe(6 + 20);
  });

  it("leave a slot to the next tenant: however many others' receivers hang, its BULK is sent, one after another", async () => {
    const send: Send = ({ tenantId }) =>
      String(tenantId) === 'tnt_fast' ? Promise.resolve(delivered) : new Promise(() => {});
    const { sends } = await world.run({ send });
    for (let i = 0; i < 8; i++) {
      const priority = i % 2 === 0 ? 'BULK' : 'DEFAULT';
      await world.append(Array.from({ length: 40 }, () => requested({ tenant: `tnt_${i}`, priority })));
    }
    // All but the last six of the 192 that aren't for HIGH alone.
    await until(() => sends.length >= 186);
    await world.append(Array.from({ length: 20 }, () => requested({ tenant: 'tnt_fast', priority: 'BULK' })));
    await until(() => outcomesOf(world.said).length === 20);
    expect(sends.length).toBeLessThanOrEqual(192 + 20);
  });

  /** How many were in flight at most: of each tenant, and of all. */
  async function peaksOf(
    tenants: number,
    limits: ProcessOptions['limits'],
  ): Promise<{ all: number; ofTenants: number[] }> {
    const inFlight = new Map<string, number>();
    const peak = new Map<string, number>();
    const add = (key: string, by: number) => {
      inFlight.set(key, (inFlight.get(key) ?? 0) + by);
      peak.set(key, Math.max(peak.get(key) ?? 0, inFlight.get(key) ?? 0));
    };
    const send: Send = async ({ tenantId }) => {
      add(tenantId, 1);
      add('all', 1);
      await new Promise((resolve) => setTimeout(resolve, 5));
      add(tenantId, -1);
      add('all', -1);
      return delivered;
    };
    await world.run({ send, ...(limits === undefined ? {} : { limits }) });
    const priority = (i: number) => (i % 2 === 0 ? 'HIGH' : 'BULK');
    await world.append(
      Array.from({ length: 150 }, (_, i) => requested({ tenant: `tnt_${i % tenants}`, priority: priority(i) })),
    );
    await until(() => outcomesOf(world.said).length === 150);
    const { all = 0, ...rest } = Object.fromEntries(peak);
    return { all, ofTenants: Object.values(rest) };
  }

  it('hold for each tenant over all lanes, and leave the rest of the channel to others', async () => {
    const peaks = await peaksOf(3, { inFlightMax: 10, inFlightPerTenantProviderMax: 3 });
    expect(peaks).toEqual({ all: 9, ofTenants: [3, 3, 3] });
  });

  it('hold for the channel', async () => {
    const { all } = await peaksOf(10, { inFlightMax: 10, inFlightPerTenantProviderMax: 3 });
    expect(all).toBe(10);
  });
});

describe('a cap that an operator gave a tenant', () => {
  const capped = { weight: 1, inFlightMax: 1 };
  let now: number;
  let most: number;
  beforeEach(() => {
    now = 0;
    most = 0;
  });
  const send: Send = async (...of) => {
    most = Math.max(most, ++now);
    const outcome = await slowly(...of);
    now--;
    return outcome;
  };

  it('holds from its first attempt on, whenever the store answers', async () => {
    await world.append(Array.from({ length: 20 }, () => requested()));
    const share = async () => {
      await nextTurn();
      return capped;
    };
    await world.run({ directory: { share }, send });
    await until(() => outcomesOf(world.said).length === 20);
    expect(most).toBe(1);
  });

  it('holds from its next attempt on where it was set while its tenant was quiet', async () => {
    let given = ordinaryShare;
    const share = async () => {
      const told = given;
      await nextTurn();
      return told;
    };
    await world.run({ directory: { share }, send });
    await world.append([requested()]);
    await until(() => outcomesOf(world.said).length === 1);
    given = capped;
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await world.append(Array.from({ length: 20 }, () => requested()));
    await until(() => outcomesOf(world.said).length === 21);
    expect(most).toBe(1);
  });

  it('holds once the settings are there that were away at first', async () => {
    let isAway = true;
    const unlessAway = async <T>(found: T): Promise<T> => {
      await new Promise((resolve) => setTimeout(resolve, 3));
      if (isAway) throw new Error('away');
      return found;
    };
    const directory = {
      share: () => unlessAway(capped),
      provider: (tenantId: TenantId) => unlessAway(settingsOf(tenantId, 'WEBHOOK')),
    };
    await world.append(Array.from({ length: 40 }, () => requested()));
    const { lines } = await world.run({ directory, send });
    await until(() => lines.some(({ message }) => message.startsWith('the settings can not be had')));
    isAway = false;
    await until(() => outcomesOf(world.said).length === 40);
    expect(most).toBe(1);
  });

  it('is no reason to wait where the settings can’t be had', async () => {
    await world.append([requested()]);
    await world.run({ directory: { share: () => Promise.reject(new Error('away')) } });
    await until(() => outcomesOf(world.said).length === 1);
  });
});

describe('a weight', () => {
  it('gives its tenant so many turns for one of each other', async () => {
    const { sends } = await world.run({
      send: slowly,
      directory: { share: async (of) => ({ weight: String(of) === 'tnt_heavy' ? 3 : 1, inFlightMax: null }) },
      limits: { inFlightMax: 4 },
    });
    const tenants = ['tnt_heavy', 'tnt_1', 'tnt_2', 'tnt_3'];
    // Their shares are asked for when they are first met.
    await world.append(tenants.map((tenant) => requested({ tenant, priority: 'BULK' })));
    await until(() => outcomesOf(world.said).length === tenants.length);
    const many = (tenant: string) => Array.from({ length: 300 }, () => requested({ tenant, priority: 'BULK' }));
    await world.append(tenants.flatMap(many));
    await until(() => sends.length > 450);
    const seen = sends.slice(100, 400);
    const counts = tenants.map((tenant) => seen.filter(({ tenantId }) => String(tenantId) === tenant).length);
    const [heavy = 0, ...others] = counts;
    for (const count of others) expect(heavy / count).toBeGreaterThan(2.5);
    for (const count of others) expect(heavy / count).toBeLessThan(3.5);
  });
});

describe('a cap of its own', () => {
  it('is as many as a tenant has in flight', async () => {
    let inFlight = 0;
    let peak = 0;
    const send: Send = async () => {
      peak = Math.max(peak, ++inFlight);
      await new Promise((resolve) => setTimeout(resolve, 5));
      inFlight--;
      return delivered;
    };
    await world.run({ send, directory: { share: async () => ({ weight: 1, inFlightMax: 2 }) } });
    await world.append([requested()]);
    await until(() => outcomesOf(world.said).length === 1);
    await world.append(Array.from({ length: 50 }, () => requested()));
    await until(() => outcomesOf(world.said).length === 51);
    expect(peak).toBe(2);
  });
});

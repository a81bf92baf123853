// The breakers of a dispatcher by a clock of the test's own: for how long they keep what waits, and whose are forgotten.

import { beforeEach, describe, expect, it } from '@jest/globals';

import { createBreakers } from '../../src/dispatchers/breakers.ts';
import type { Breakers } from '../../src/dispatchers/breakers.ts';
import type { ReadyMeans } from '../../src/dispatchers/means.ts';
import { workItemOf } from '../../src/dispatchers/work-item.ts';
import type { WorkItem } from '../../src/dispatchers/work-item.ts';
import type { DeliveryOutcome } from '../../src/domain/delivery-outcome.ts';
import type { Channel, WorkEvent } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { fixedRetryPolicy } from '../../src/domain/retry-policy.ts';
import type { Logger } from '../../src/ports/logger.ts';
import type { Metrics } from '../../src/ports/metrics.ts';
import { retryable, settingsOf } from './harness.ts';
import { due, requested, retryRequested } from './work-events.ts';

const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const noMetrics: Metrics = { increment() {}, observe() {}, gauge() {}, gauges() {} };

const hour = 3_600_000;
const day = 24 * hour;

const means: ReadyMeans = {
  kind: 'ready',
  role: 'primary',
  provider: {
    channel: 'WEBHOOK',
    name: 'custom',
    check: () => [],
    keyGoesBy: () => ({}),
    send: () => Promise.resolve(retryable()),
  },
  settings: null,
  webhookSecret: '',
  secrets: [],
  maxPerSecond: null,
  fallback: null,
};

/** Since all of them were made. */
let passedMs = 0;
let breakers: Breakers;
beforeEach(() => {
  passedMs = 0;
  breakers = breakersOf('WEBHOOK');
});

function breakersOf(channel: Channel, more: Partial<Parameters<typeof createBreakers>[0]> = {}): Breakers {
  const begun = Date.now();
  return createBreakers({
    channel,
    // All retries together: an hour.
    retryPolicy: fixedRetryPolicy([hour / 2, hour / 2]),
    clock: { now: () => begun + passedMs, monotonic: () => passedMs, random: () => 0 },
    logger: silentLogger,
    metrics: noMetrics,
    ...more,
  });
}

function itemOf(event: WorkEvent): WorkItem {
  const tracker = { number: event.partition, finish() {} } as unknown as WorkItem['tracker'];
  return workItemOf(event, { number: { isOver: false }, tracker, offset: 0, bytes: 0, order: 0 });
}

/** What becomes of it now; an attempt that may be made ends as is said. */
function attempt(event: WorkEvent, outcome: DeliveryOutcome): 'made' | 'probe' | 'waits' {
  const choice = breakers.choose(itemOf(event), means);
  if (choice.kind === 'wait') return 'waits';
  breakers.note(choice.pass, outcome);
  return choice.pass.isProbe ? 'probe' : 'made';
}

it('10,000 dead receivers of one tenant are no reason to call another tenant’s that asked for a pause', () => {
  const asked = { tenant: 'tnt_b', recipient: 'https://b.example/hook' };
  expect(attempt(requested(asked), retryable(hour))).toBe('made');
  for (let port = 1; port <= 10_000; port++)
    attempt(requested({ tenant: 'tnt_a', recipient: `https://a.example:${port}/hook` }), retryable());
  expect(attempt(requested(asked), retryable(hour))).toBe('waits');
});

describe('a receiver that asks for a pause each time it is tried', () => {
  const pause = retryable(10 * 60_000);

  it('keeps nothing for longer than all retries and the longest pause together: its attempts are made, and end it', () => {
    const event = requested();
    expect(attempt(event, pause)).toBe('made');
    const waiting = requested();
    while (passedMs <= day + hour) {
      expect(attempt(waiting, pause)).toBe('waits');
      passedMs += 10 * 60_000;
      expect(attempt(event, pause)).toBe('probe');
    }
    expect(attempt(waiting, pause)).toBe('made');
    expect(attempt(retryRequested(waiting, 2, 4), pause)).toBe('made');
    // What has come since waits still.
    expect(attempt({ ...requested(), requestedAt: waiting.requestedAt + hour }, pause)).toBe('waits');
  });

  it('is left alone by what a person sends again, however old that is', () => {
    const old = { ...requested(), requestedAt: Date.now() - 30 * day };
    expect(attempt(requested(), pause)).toBe('made');
    expect(attempt(retryRequested(old, 2, 4), pause)).toBe('waits');
  });
});

describe('a receiver that is down, and what a person sends again to it of a month ago', () => {
  const old = { ...requested(), requestedAt: Date.now() - 30 * day };
  const again = (): WorkEvent => ({ ...retryRequested(old, 2, 4), occurredAt: Date.now() + passedMs });
  const dueAgain = (): WorkEvent => ({ ...due(old, 5, 4), round: 2 });
  beforeEach(() => {
    for (let failures = 0; failures < 10; failures++) expect(attempt(requested(), retryable())).toBe('made');
  });

  it('is tried by one at a time, as by what is new', () => {
    expect(attempt(again(), retryable())).toBe('waits');
    expect(attempt(dueAgain(), retryable())).toBe('waits');
    passedMs += 1_000;
    expect(attempt(again(), retryable())).toBe('probe');
    expect(attempt(again(), retryable())).toBe('waits');
    expect(attempt(dueAgain(), retryable())).toBe('waits');
  });

  it('keeps none of it for longer than all retries take together', () => {
    const first = again();
    while (passedMs <= hour) {
      expect(attempt(first, retryable())).not.toBe('made');
      passedMs += 60_000;
      attempt(requested(), retryable());
    }
    expect(attempt(first, retryable())).toBe('made');
    expect(attempt(dueAgain(), retryable())).toBe('made');
    expect(attempt(again(), retryable())).toBe('waits');
  });
});

describe('what waits in line', () => {
  const reason = { code: 'http_400', message: 'Bad Request', failureClass: 'recipient' } as const;
  const up: DeliveryOutcome[] = [
    { kind: 'delivered', messageId: null },
    { kind: 'retryable', reason, retryAfterMs: null },
    { kind: 'rejected', reason },
  ];

  it('waits no longer once its receiver has answered, whatever it says of a message', () => {
    const notedOf = (outcome: DeliveryOutcome) => {
      const choice = breakers.choose(itemOf(requested()), means);
      return choice.kind === 'go' ? breakers.note(choice.pass, outcome) : null;
    };
    expect(up.map(notedOf)).toEqual([true, true, true]);
    expect([retryable(), retryable(hour)].map(notedOf)).toEqual([false, false]);
  });

  it('for a tenant’s providers waits for any of them', () => {
    const primary: ReadyMeans = { ...means, fallback: { ...means, role: 'fallback' } };
    const item = itemOf(requested({ channel: 'EMAIL', recipient: 'ada@example.com' }));
    const chosen = () => breakers.choose(item, primary);
    breakers = breakersOf('EMAIL');
    const roles = new Set<string>();
    const awaited = new Set<string>();
    for (let choice = chosen(); ; choice = chosen()) {
      awaited.add(choice.kind === 'go' ? choice.pass.awaited : choice.awaited);
      if (choice.kind === 'wait') break;
      roles.add(choice.pass.means.role);
      breakers.note(choice.pass, retryable());
    }
    expect([...roles]).toEqual(['primary', 'fallback']);
    expect(awaited.size).toBe(1);
  });
});

describe('a provider that asked for a pause of a day', () => {
  const tenant = 'tnt_a' as TenantId;
  const delivered: DeliveryOutcome = { kind: 'delivered', messageId: null };
  const read = new Map<string, () => unknown>();
  const told: string[] = [];
  const email = () => itemOf(requested({ tenant, channel: 'EMAIL', recipient: 'ada@example.com' }));
  /** As it was saved then. */
  const saved = (updatedAt: number, more: Partial<ReadyMeans> = {}): ReadyMeans => ({
    ...means,
    provider: { ...means.provider, channel: 'EMAIL' },
    settings: { ...settingsOf(tenant, 'EMAIL'), updatedAt },
    ...more,
  });
  function begin(by: ReadyMeans) {
    const choice = breakers.choose(email(), by);
    if (choice.kind === 'wait') throw new Error('it waits');
    return choice.pass;
  }
  const shown = () => [
    breakers.openUntil(tenant, 'primary'),
    breakers.openUntil(tenant, 'fallback'),
    read.get('open')?.(),
    read.get('herald_breaker_open_seconds')?.(),
  ];
  const nothing = [null, null, 0, []];
  beforeEach(() => {
    told.length = 0;
    breakers = breakersOf('EMAIL', {
      metrics: {
        ...noMetrics,
        gauge: (_, value, labels) => void read.set(String(labels?.['state']), value),
        gauges: (name, values) => void read.set(name, values),
      },
      changed: (tenantId, role) => told.push(`${tenantId} ${role}`),
    });
  });

  it('is shown as open nowhere once what was saved since has been met, which is told', () => {
    breakers.note(begin(saved(1)), retryable(day));
    expect([breakers.openUntil(tenant, 'primary'), read.get('open')?.()]).toEqual([day, 1]);
    begin(saved(2));
    expect(shown()).toEqual(nothing);
    expect(told).toEqual(['tnt_a primary', 'tnt_a primary']);
  });

  it('asked for it as it was saved before: what is saved now keeps its own', () => {
    const late = begin(saved(1));
    breakers.note(begin(saved(2)), retryable(hour));
    breakers.note(late, retryable(day));
    expect(breakers.openUntil(tenant, 'primary')).toBe(hour);
  });

  it('asked for it as it was saved before, where nothing is kept of what is saved now: that counts once it has failed', () => {
    const [late, now] = [begin(saved(1)), begin(saved(2))];
    breakers.note(late, retryable(day));
    breakers.note(now, retryable(hour));
    expect(breakers.openUntil(tenant, 'primary')).toBe(hour);
  });

  it('is shown no longer once it is gone: the fallback beside the first, or all that its tenant had', () => {
    const fallback = saved(1, { role: 'fallback' });
    breakers.note(begin(fallback), retryable(day));
    breakers.note(begin(saved(1)), delivered);
    expect(shown()).toEqual(nothing);
    breakers.note(begin(saved(1, { fallback })), retryable(day));
    breakers.note(begin(saved(1, { fallback })), retryable(day));
    expect(read.get('open')?.()).toBe(2);
    breakers.forget(email());
    expect(shown()).toEqual(nothing);
  });
});

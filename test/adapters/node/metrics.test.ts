// Metrics: Prometheus's text, of this thread and of others.

import { describe, expect, it } from '@jest/globals';

import { createMetrics } from '../../../src/adapters/node/metrics.ts';

const open = () => createMetrics({ processMetrics: false });
const lineOf = (page: string, start: string) => page.split('\n').find((line) => line.startsWith(start));

describe('metrics', () => {
  it('count and measure by label', async () => {
    const metrics = open();
    metrics.increment('herald_attempts_total', { channel: 'EMAIL', outcome: 'delivered' });
    metrics.increment('herald_attempts_total', { channel: 'EMAIL', outcome: 'delivered' }, 4);
    metrics.increment('herald_accepted_total');
    metrics.observe('herald_attempt_seconds', 0.003, { channel: 'SMS' });
    const page = await metrics.read();
    expect(lineOf(page, 'herald_attempts_total{')).toBe('herald_attempts_total{channel="EMAIL",outcome="delivered"} 5');
    expect(lineOf(page, 'herald_accepted_total')).toBe('herald_accepted_total 1');
    expect(page).toContain('herald_attempt_seconds_bucket{le="0.005",channel="SMS"} 1');
    expect(page).toContain('herald_attempt_seconds_bucket{le="0.0025",channel="SMS"} 0');
    expect(metrics.contentType).toContain('text/plain');
  });

  it('ask for a gauge when they are read, the last one given for its labels', async () => {
    const metrics = open();
    let value = 1;
    metrics.gauge('herald_in_flight', () => 99, { channel: 'EMAIL' });
    metrics.gauge('herald_in_flight', () => value, { channel: 'EMAIL' });
    metrics.gauge('herald_in_flight', () => 7, { channel: 'SMS' });
    await metrics.read();
    value = 2;
    const page = await metrics.read();
    expect(page).toContain('herald_in_flight{channel="EMAIL"} 2');
    expect(page).toContain('herald_in_flight{channel="SMS"} 7');
  });

  it('ask for gauges whose labels change: those that there are now, each asker beside the others', async () => {
    const metrics = open();
    let tenants = ['a', 'b'];
    const ofThem = () => tenants.map((tenant) => [{ tenant }, 1] as const);
    metrics.gauges('herald_breaker_open_seconds', ofThem, { channel: 'EMAIL' });
    metrics.gauges('herald_breaker_open_seconds', () => [[{ tenant: 'c' }, 2]], { channel: 'SMS' });
    expect(await metrics.read()).toContain('herald_breaker_open_seconds{channel="EMAIL",tenant="a"} 1');
    tenants = ['b'];
    const lines = (await metrics.read()).split('\n').filter((line) => line.startsWith('herald_breaker_open_seconds{'));
    expect(lines).toEqual([
      'herald_breaker_open_seconds{channel="EMAIL",tenant="b"} 1',
      'herald_breaker_open_seconds{channel="SMS",tenant="c"} 2',
    ]);
  });

  it('of another thread are added in, after a journey by message', async () => {
    const [main, worker] = [open(), open()];
    main.increment('herald_folded_events_total', { read_model: 'inbox' }, 2);
    worker.increment('herald_folded_events_total', { read_model: 'inbox' }, 3);
    worker.gauge('herald_projector_lag', () => 1.5, { read_model: 'timers' });
    worker.observe('herald_append_seconds', 0.2);
    const page = await main.read([structuredClone(await worker.snapshot())]);
    expect(page).toContain('herald_folded_events_total{read_model="inbox"} 5');
    expect(page).toContain('herald_projector_lag{read_model="timers"} 1.5');
    expect(page).toContain('herald_append_seconds_count 1');
  });

  it('tell a delay of the event loop that begins at once after a look, and each but once', async () => {
    const metrics = createMetrics({ processMetrics: false, thread: 'main' });
    const longest = async () =>
      Number(
        lineOf(await metrics.read(), 'herald_event_loop_delay_seconds{')
          ?.split(' ')
          .at(-1),
      );
    await longest();
    const from = performance.now();
    while (performance.now() - from < 300);
    // Nothing that came meanwhile has had its turn, a tick of the watch neither.
    expect(await longest()).toBeGreaterThan(0.25);
    expect(await longest()).toBeLessThan(0.25);
  });

  it('say how the process does', async () => {
    expect(await createMetrics().read()).toContain('process_resident_memory_bytes');
  });
});

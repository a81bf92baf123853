// Webhooks end to end: the real log, the real provider, the real client, a real receiver.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createOutbound } from '../../src/adapters/http/outbound.ts';
import { createProviderRegistry } from '../../src/channels/registry.ts';
import type { AttemptFailed } from '../../src/domain/events.ts';
import type { Outbound } from '../../src/ports/outbound.ts';
import type { ProviderRegistry } from '../../src/ports/provider-registry.ts';
import { startHttpSink } from '../support/http-sink.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';
import { wallClock } from '../support/wall-clock.ts';
import { makeWorld, outcomesOf } from './harness.ts';
import type { ProcessOptions, World } from './harness.ts';
import { requested } from './work-events.ts';

let world: World;
let outbound: Outbound;
let providers: ProviderRegistry;
let sink: HttpSink | null = null;

beforeEach(async () => {
  world = await makeWorld();
  outbound = createOutbound({ allow: ['127.0.0.1/32'], clock: wallClock });
  providers = createProviderRegistry({ outbound, clock: wallClock, providerUrls: {} });
});

afterEach(async () => {
  await world.close();
  await outbound.close();
  await sink?.close();
});

/** No tenant has set a provider: webhooks are signed with the tenant's own secret. */
function run(options: ProcessOptions = {}) {
  return world.run({ ...options, providers, directory: { provider: () => Promise.resolve(null) } });
}

describe('webhooks', () => {
  it('arrive, each once, and are said to be delivered by the built-in provider', async () => {
    sink = await startHttpSink();
    const recipient = `${sink.url}/hook`;
    await run();
    const events = Array.from({ length: 300 }, (_, i) => requested({ recipient, tenant: `tnt_${i % 5}` }));
    await world.append(events);
    await until(() => outcomesOf(world.said).length === 300);
    expect(
      outcomesOf(world.said).every(({ type, provider }) => type === 'AttemptSucceeded' && provider === 'custom'),
    ).toBe(true);
    const received = sink.requests.map(({ headers }) => String(headers['webhook-id']));
    expect(received.sort()).toEqual(events.map(({ notificationId }) => String(notificationId)).sort());
  });

  it('that are throttled are tried again when the receiver asks for it', async () => {
    sink = await startHttpSink({
      respond: (_, response) => response.writeHead(429, { 'retry-after': '30' }).end('slow down'),
    });
    await run();
    await world.append([requested({ recipient: sink.url })]);
    const failed = (await until(() => outcomesOf(world.said)[0])) as AttemptFailed;
    expect(failed).toMatchObject({ code: '429', failureClass: 'provider' });
    expect((failed.retryAt ?? 0) - failed.occurredAt).toBeGreaterThanOrEqual(29_900);
  });

  it('whose receiver hangs are cut at the deadline and tried again', async () => {
    sink = await startHttpSink({ respond: () => {} });
    await run({ limits: { attemptDeadlineMs: 200 } });
    await world.append([requested({ recipient: sink.url })]);
    const failed = (await until(() => outcomesOf(world.said)[0])) as AttemptFailed;
    expect(failed).toMatchObject({ code: 'ETIMEDOUT', failureClass: 'network' });
    expect(failed.retryAt).not.toBeNull();
    await until(() => sink?.open() === 0, { what: 'the connection to be closed' });
  });
});

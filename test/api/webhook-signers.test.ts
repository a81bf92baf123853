// What signs webhooks, and what signs as well for 24 h: whenever the one is another, whichever way it came to be, receivers that know the former go on.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createWebhookSigner } from '../../src/channels/webhook/signature.ts';
import { webhookSecretOverlapMs } from '../../src/domain/tenant.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink, SinkRequest } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { until } from '../support/until.ts';

let app: App;
let sink: HttpSink;

beforeAll(async () => {
  app = await startApp();
  sink = await startHttpSink();
});
afterAll(async () => {
  await app.close();
  await sink.close();
});

const signer = createWebhookSigner();
const numbers = ['one', 'two', 'three', 'four', 'five', 'six'] as const;
const secretOf = (name: (typeof numbers)[number]) => `the secret number ${name}`;
type Signed = 'own' | (typeof numbers)[number];
let paths = 0;

async function world() {
  const tenant = await app.tenant(`signers ${paths}`);
  const own = (await tenant.dashboard('GET', '/tenant')).body.webhookSecret as string;
  const all: ReadonlyMap<Signed, string> = new Map([
    ['own', own],
    ...numbers.map((name) => [name, secretOf(name)] as const),
  ]);
  /** Whose signatures a request has, in their order. */
  const signedBy = ({ headers, body }: SinkRequest): (Signed | undefined)[] => {
    const message = { id: String(headers['webhook-id']), timestamp: String(headers['webhook-timestamp']) };
    const of = (name: Signed) => signer.sign([all.get(name) ?? ''], { ...message, body: Buffer.from(body) });
    const names = [...all.keys()];
    return String(headers['webhook-signature'])
      .split(' ')
      .map((signature) => names.find((name) => of(name) === signature));
  };
  const sent = async (path: string): Promise<SinkRequest> => {
    await until(() => sink.requests.some((request) => request.path === path), { what: path });
    return sink.requests.find((request) => request.path === path) as SinkRequest;
  };
  const stored = async () =>
    (await app.deps.settings.settings(tenant.id as never))?.providers.find(({ channel }) => channel === 'WEBHOOK');
  return {
    tenant,
    stored,
    async save(name: (typeof numbers)[number], enabled = true) {
      const provider = { channel: 'WEBHOOK', provider: 'custom', apiKey: secretOf(name), config: {}, enabled };
      expect((await tenant.dashboard('POST', '/providers', provider)).status).toBe(200);
    },
    async remove() {
      return (await tenant.dashboard('DELETE', '/providers/WEBHOOK')).status;
    },
    /** A webhook's signatures, and a test's, which are to be the same. */
    async signs(): Promise<(Signed | undefined)[]> {
      const path = `/${paths++}`;
      await tenant.notify({ channel: 'WEBHOOK', recipient: `${sink.url}${path}`, body: 'b' });
      const signatures = signedBy(await sent(path));
      await tenant.dashboard('POST', '/providers/WEBHOOK/test', { recipient: `${sink.url}${path}-test` });
      expect(signedBy(await sent(`${path}-test`))).toEqual(signatures);
      return signatures;
    },
    /** All that signed before ends so much sooner. */
    async later(ms: number) {
      const one = await stored();
      if (one === undefined) throw new Error('nothing is saved');
      const previousUntil = (one.previousUntil ?? 0) - ms;
      const earlierKeys = (one.earlierKeys ?? []).map((key) => ({ ...key, until: key.until - ms }));
      await app.deps.settings.saveProvider({ ...one, previousUntil, earlierKeys });
      app.deps.directory.forget(one.tenantId);
    },
  };
}

type World = Awaited<ReturnType<typeof world>>;

const steps: readonly [string, (one: World) => Promise<unknown>, Signed[]][] = [
  ['the first secret is saved', (one) => one.save('one'), ['one', 'own']],
  ['it is another', (one) => one.save('two'), ['two', 'one', 'own']],
  ['it is disabled', (one) => one.save('two', false), ['own', 'two', 'one']],
  ['nothing but the disabled one is another', (one) => one.save('one', false), ['own', 'two', 'one']],
  ['it is enabled', (one) => one.save('one'), ['one', 'own', 'two']],
  ['it is saved as it is', (one) => one.save('one'), ['one', 'own', 'two']],
  ['it is deleted', (one) => one.remove(), ['own', 'one', 'two']],
  ['it is saved again', (one) => one.save('two'), ['two', 'own', 'one']],
];

describe('what signed so far signs as well', () => {
  it(`when ${steps.map(([what]) => what).join(', ')}`, async () => {
    const one = await world();
    expect(await one.signs()).toEqual(['own']);
    for (const [what, step, signers] of steps) {
      await step(one);
      expect([what, await one.signs()]).toEqual([what, signers]);
    }
  });

  it.each<[string, (one: World) => Promise<unknown>, Signed[]]>([
    ['changed', (one) => one.save('two'), ['two', 'one']],
    ['disabled', (one) => one.save('one', false), ['own', 'one']],
    ['deleted', (one) => one.remove(), ['own', 'one']],
  ])('for 24 h, where it was %s', async (_, step, signers) => {
    const one = await world();
    await one.save('one');
    await one.later(webhookSecretOverlapMs);
    await step(one);
    await one.later(webhookSecretOverlapMs - 60_000);
    expect(await one.signs()).toEqual(signers);
    await one.later(60_000);
    expect(await one.signs()).toEqual(signers.slice(0, 1));
  });

  it('each for its own 24 h, whatever is changed meanwhile', async () => {
    const one = await world();
    const hourMs = 3_600_000;
    await one.save('one');
    await one.later(10 * hourMs);
    await one.save('two');
    await one.later(10 * hourMs);
    await one.save('two', false);
    expect(await one.signs()).toEqual(['own', 'two', 'one']);
    await one.save('three');
    await one.later(14 * hourMs);
    expect(await one.signs()).toEqual(['three', 'own', 'two']);
    expect(await one.remove()).toBe(200);
    await one.later(10 * hourMs);
    expect(await one.signs()).toEqual(['own', 'three']);
    await one.later(14 * hourMs);
    expect(await one.signs()).toEqual(['own']);
  });

  it('four of them at most, those that signed longest: what receivers have stays, and not what nobody has seen', async () => {
    const one = await world();
    const signedMs = { one: 3_600_000, two: 0, three: 60_000, four: 120_000, five: 90_000, six: 0 };
    for (const name of numbers) {
      await one.save(name);
      if (name === 'five') expect(await one.signs()).toEqual(['five', 'four', 'three', 'one', 'own']);
      await one.later(signedMs[name]);
    }
    expect(await one.signs()).toEqual(['six', 'five', 'four', 'one', 'own']);
    await one.save('one');
    expect(await one.signs()).toEqual(['one', 'six', 'five', 'four', 'own']);
  });

  it('also where it is deleted after it was disabled, until the 24 h of that are over', async () => {
    const one = await world();
    await one.save('one');
    await one.save('one', false);
    const until = (await one.stored())?.previousUntil;
    expect(await one.remove()).toBe(200);
    expect(await one.signs()).toEqual(['own', 'one']);
    expect((await one.stored())?.previousUntil).toBe(until);
  });
});

describe('a deleted one', () => {
  it('is in no list, is not there to be deleted, and its secret stands for no bullets', async () => {
    const one = await world();
    await one.save('one');
    expect([await one.remove(), await one.remove()]).toEqual([200, 404]);
    expect((await one.tenant.dashboard('GET', '/providers')).body).toEqual([]);
    const masked = { channel: 'WEBHOOK', provider: 'custom', apiKey: 'the••••••one', config: {} };
    expect((await one.tenant.dashboard('POST', '/providers', masked)).body.details).toMatchObject([
      { path: 'apiKey', message: expect.stringContaining('no key is stored') },
    ]);
    expect(await one.signs()).toEqual(['own', 'one']);
  });

  it('that signed nothing lately is gone', async () => {
    const one = await world();
    await one.save('one', false);
    expect(await one.remove()).toBe(200);
    expect(await one.stored()).toBeUndefined();
  });

  it('that cannot be opened any more keeps no webhook from being sent', async () => {
    const one = await world();
    await one.save('one');
    await one.remove();
    const stored = await one.stored();
    if (stored === undefined) throw new Error('nothing is kept');
    const unreadable = { sealedApiKey: 'v1.00000000.AAAA', sealedPreviousApiKey: 'v1.00000000.AAAA' };
    await app.deps.settings.saveProvider({ ...stored, ...unreadable });
    app.deps.directory.forget(stored.tenantId);
    expect(await one.signs()).toEqual(['own']);
  });
});

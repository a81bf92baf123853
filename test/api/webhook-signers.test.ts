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
const secrets = { one: 'the secret number one', two: 'the secret number two' };
type Signed = 'own' | keyof typeof secrets;
let paths = 0;

async function world() {
  const tenant = await app.tenant(`signers ${paths}`);
  const own = (await tenant.dashboard('GET', '/tenant')).body.webhookSecret as string;
  const all = { own, ...secrets };
  /** Whose signatures a request has, in their order. */
  const signedBy = ({ headers, body }: SinkRequest): (Signed | undefined)[] => {
    const message = { id: String(headers['webhook-id']), timestamp: String(headers['webhook-timestamp']) };
    const of = (name: Signed) => signer.sign([all[name]], { ...message, body: Buffer.from(body) });
    const names = Object.keys(all) as Signed[];
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
    async save(name: keyof typeof secrets, enabled = true) {
      const provider = { channel: 'WEBHOOK', provider: 'custom', apiKey: secrets[name], config: {}, enabled };
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
    async later(ms: number) {
      const one = await stored();
      if (one === undefined) throw new Error('nothing is saved');
      await app.deps.settings.saveProvider({ ...one, previousUntil: (one.previousUntil ?? 0) - ms });
      app.deps.directory.forget(one.tenantId);
    },
  };
}

type World = Awaited<ReturnType<typeof world>>;

const steps: readonly [string, (one: World) => Promise<unknown>, Signed[]][] = [
  ['the first secret is saved', (one) => one.save('one'), ['one', 'own']],
  ['it is another', (one) => one.save('two'), ['two', 'one']],
  ['it is disabled', (one) => one.save('two', false), ['own', 'two']],
  ['nothing but the disabled one is another', (one) => one.save('one', false), ['own', 'two']],
  ['it is enabled', (one) => one.save('one'), ['one', 'own']],
  ['it is saved as it is', (one) => one.save('one'), ['one', 'own']],
  ['it is deleted', (one) => one.remove(), ['own', 'one']],
  ['it is saved again', (one) => one.save('two'), ['two', 'own']],
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
    ['changed', (one) => one.save('two'), ['two']],
    ['disabled', (one) => one.save('one', false), ['own']],
    ['deleted', (one) => one.remove(), ['own']],
  ])('for 24 h, where it was %s', async (_, step, signers) => {
    const one = await world();
    await one.save('one');
    await step(one);
    await one.later(webhookSecretOverlapMs - 60_000);
    expect(await one.signs()).toHaveLength(2);
    await one.later(60_000);
    expect(await one.signs()).toEqual(signers);
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

// Bearer tokens as attackers send them, against the service with a remote issuer's keys: every one is 401, none a 5xx, and the issuer isn't bothered.

import type { KeyObject } from 'node:crypto';
import { createHmac, createSign, generateKeyPairSync } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SignJWT } from 'jose';

import { createRemoteTokenKeys } from '../../src/adapters/node/jwks.ts';
import type { App, Reply } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
const rsaKid = 'rsa-1';
const ecKid = 'ec-1';
const issuer = 'https://issuer.test';
const audience = 'herald';
const weak = generateKeyPairSync('rsa', { modulusLength: 1024 });
const weakKid = 'rsa-weak';
const jwks = {
  keys: [
    { ...rsa.publicKey.export({ format: 'jwk' }), kid: rsaKid, alg: 'RS256', use: 'sig' },
    { ...weak.publicKey.export({ format: 'jwk' }), kid: weakKid, alg: 'RS256', use: 'sig' },
    { ...ec.publicKey.export({ format: 'jwk' }), kid: ecKid, alg: 'ES256', use: 'sig' },
  ],
};

let app: App;
let provider: HttpSink;
let rsaOnly: App;
let tellingClaims: App;

beforeAll(async () => {
  provider = await startHttpSink({ respond: (_, response) => response.end(JSON.stringify(jwks)) });
  const tokenKeys = createRemoteTokenKeys({ url: `${provider.url}/jwks` });
  const tokens = { issuer, audience, tenantClaim: 'sub' } as const;
  app = await startApp({
    replace: () => ({ tokenKeys }),
    options: { tokens: { ...tokens, algorithms: ['RS256', 'ES256'] } },
    delivers: false,
  });
  rsaOnly = await startApp({
    replace: () => ({ tokenKeys }),
    options: { tokens: { ...tokens, tenantClaim: 'org', nameClaim: 'user_metadata.full_name', algorithms: ['RS256'] } },
    delivers: false,
  });
  tellingClaims = await startApp({
    replace: () => ({ tokenKeys }),
    options: { tokens: { ...tokens, algorithms: ['RS256', 'ES256'], tellsClaims: true } },
    delivers: false,
  });
  expect((await provision(await token())).status).toBe(200);
});
afterAll(async () => {
  await app.close();
  await rsaOnly.close();
  await tellingClaims.close();
  await provider.close();
});

interface Signing {
  readonly key?: KeyObject | Uint8Array;
  readonly header?: Record<string, unknown>;
  readonly claims?: Record<string, unknown>;
}

const now = () => Math.floor(Date.now() / 1000);
const goodClaims = () => ({ sub: 'ada', iss: issuer, aud: audience, iat: now(), exp: now() + 600 });

function token({ key = rsa.privateKey, header = {}, claims = {} }: Signing = {}): Promise<string> {
  return new SignJWT({ ...goodClaims(), ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: rsaKid, ...header })
    .sign(key);
}

const part = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** Signed as the issuer would, whatever its parts are. */
function rawToken(header: unknown, payload: unknown): string {
  const text = `${part(header)}.${part(payload)}`;
  return `${text}.${createSign('sha256').update(text).sign(rsa.privateKey).toString('base64url')}`;
}

const ask = (bearer: string, on = app): Promise<Reply> =>
  on.call('GET', '/api/v1/tenant', { authorization: `Bearer ${bearer}` });
const provision = (bearer: string, on = app): Promise<Reply> =>
  on.call('POST', '/api/v1/auth/provision-tenant', { authorization: `Bearer ${bearer}` });

describe('a token', () => {
  it('of the issuer is taken, by RSA and by elliptic curve', async () => {
    expect((await ask(await token())).status).toBe(200);
    const byCurve = await token({ key: ec.privateKey, header: { alg: 'ES256', kid: ecKid } });
    expect((await ask(byCurve)).status).toBe(200);
  });

  it('may be 30 s late or early, and no more', async () => {
    const statusOf = async (claims: Record<string, unknown>) => (await ask(await token({ claims }))).status;
    expect(await statusOf({ exp: now() - 25 })).toBe(200);
    expect(await statusOf({ exp: now() - 35 })).toBe(401);
    expect(await statusOf({ nbf: now() + 25 })).toBe(200);
    expect(await statusOf({ nbf: now() + 35 })).toBe(401);
  });

  it('may name several audiences, of which we are one', async () => {
    expect((await ask(await token({ claims: { aud: ['shop', audience] } }))).status).toBe(200);
  });

  it('without an end, or whose end is over 24 h after its beginning, gets 401 that says so', async () => {
    const day = 24 * 3600;
    const of = async (claims: Record<string, unknown>) => {
      const { status, body } = await ask(await token({ claims }));
      return status === 200 ? 200 : [status, body.error];
    };
    const endless = [401, 'The token has no exp: ask its issuer for one that ends.'];
    const tooLate = [401, 'The token ends too late: its exp may be 24 h after its iat.'];
    expect(await of({ exp: undefined })).toEqual(endless);
    expect(await of({ exp: undefined, iat: undefined })).toEqual(endless);
    expect(await of({ exp: now() + day })).toBe(200);
    expect(await of({ exp: now() + day + 90 })).toEqual(tooLate);
    expect(await of({ iat: now() - day, exp: now() + 90 })).toEqual(tooLate);
    // Without a beginning, or with one that is still to come, it is as if it began now.
    expect(await of({ iat: undefined, exp: now() + day - 90 })).toBe(200);
    expect(await of({ iat: undefined, exp: now() + day + 90 })).toEqual(tooLate);
    expect(await of({ iat: now() + 365 * day, exp: now() + 365 * day + 600 })).toEqual(tooLate);
    expect(await of({ exp: 9e15 })).toEqual(tooLate);
  });

  it('of an RSA key of fewer than 2,048 bits gets 401 that says so, however its issuer publishes it', async () => {
    const text = `${part({ alg: 'RS256', kid: weakKid })}.${part(goodClaims())}`;
    const { status, body } = await ask(
      `${text}.${createSign('sha256').update(text).sign(weak.privateKey).toString('base64url')}`,
    );
    expect([status, body.error]).toEqual([
      401,
      'The token is signed with an RSA key of 1024 bits: it must have 2048 or more.',
    ]);
  });

  const pem = String(rsa.publicKey.export({ type: 'spki', format: 'pem' }));
  const hmacWith = (secret: string, kid: string) => {
    const text = `${part({ alg: 'HS256', typ: 'JWT', kid })}.${part(goodClaims())}`;
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
  };
  const forged: Record<string, () => string | Promise<string>> = {
    'without a signature': () => `${part({ alg: 'none' })}.${part(goodClaims())}.`,
    'of the algorithm None': () => `${part({ alg: 'None', kid: rsaKid })}.${part(goodClaims())}.`,
    'with its signature cut off': async () => (await token()).replace(/[^.]+$/, ''),
    'signed by HMAC with the public key as PEM': () => hmacWith(pem, rsaKid),
    'signed by HMAC with the public key as JWK': () => hmacWith(JSON.stringify(jwks.keys[0]), rsaKid),
    'signed by HMAC with nothing': () => hmacWith('', rsaKid),
    'by another key under a known kid': () => token({ key: stranger.privateKey }),
    'by another key without a kid': () => token({ key: stranger.privateKey, header: { kid: undefined } }),
    'by RSA under the kid of the curve': () => token({ header: { kid: ecKid } }),
    'by the curve under the kid of RSA': () => token({ key: ec.privateKey, header: { alg: 'ES256', kid: rsaKid } }),
    'by RS512': () => token({ header: { alg: 'RS512' } }),
    'by PS256': () => token({ header: { alg: 'PS256' } }),
    'with a key of its own in the header': () =>
      token({
        key: stranger.privateKey,
        header: { kid: undefined, jwk: stranger.publicKey.export({ format: 'jwk' }) },
      }),
    'with an address of keys in the header': () =>
      token({ key: stranger.privateKey, header: { jku: 'http://127.0.0.1:1/jwks', x5u: 'http://127.0.0.1:1/x' } }),
    'whose kid is a path': () => token({ header: { kid: '../../../../dev/null' } }),
    'whose kid is SQL': () => token({ header: { kid: "x' UNION SELECT 'secret' --" } }),
    'whose kid is a property of every object': () => token({ header: { kid: '__proto__' } }),
    'whose kid is long': () => token({ header: { kid: 'k'.repeat(4000) } }),
    'whose kid is an object': () => rawToken({ alg: 'RS256', kid: { $ne: null } }, goodClaims()),
    'whose kid is a number': () => rawToken({ alg: 'RS256', kid: 7 }, goodClaims()),
    'whose algorithm is a list': () => rawToken({ alg: ['RS256'], kid: rsaKid }, goodClaims()),
    'that asks for unknown extensions': () =>
      rawToken({ alg: 'RS256', kid: rsaKid, crit: ['exp2'], exp2: 1 }, goodClaims()),
    'of another issuer': () => token({ claims: { iss: 'https://evil.test' } }),
    'of an issuer that begins as ours does': () => token({ claims: { iss: `${issuer}.evil.test` } }),
    'without an issuer': () => token({ claims: { iss: undefined } }),
    'for another audience': () => token({ claims: { aud: 'shop' } }),
    'for no audience': () => token({ claims: { aud: [] } }),
    'whose end is text': () => rawToken({ alg: 'RS256', kid: rsaKid, typ: 'JWT' }, { ...goodClaims(), exp: 'never' }),
    'whose beginning is text': () => rawToken({ alg: 'RS256', kid: rsaKid, typ: 'JWT' }, { ...goodClaims(), nbf: 'x' }),
    'that ended long ago': () => token({ claims: { exp: 1 } }),
    'without a sub': () => token({ claims: { sub: undefined } }),
    'whose sub is an object': () =>
      rawToken({ alg: 'RS256', kid: rsaKid, typ: 'JWT' }, { ...goodClaims(), sub: { $gt: '' } }),
    'whose sub is empty': () => token({ claims: { sub: '' } }),
    'whose sub is endless': () => token({ claims: { sub: 's'.repeat(5000) } }),
    'whose sub has NUL in it': () => token({ claims: { sub: 'ada\u0000' } }),
    'whose sub has half a surrogate pair in it': () =>
      rawToken({ alg: 'RS256', kid: rsaKid, typ: 'JWT' }, JSON.stringify(goodClaims()).replace('ada', '\\ud800')),
    'whose claims are null': () => rawToken({ alg: 'RS256', kid: rsaKid, typ: 'JWT' }, null),
    'whose claims are a list': () => rawToken({ alg: 'RS256', kid: rsaKid, typ: 'JWT' }, [1]),
    'whose claims are text': () => rawToken({ alg: 'RS256', kid: rsaKid, typ: 'JWT' }, '"ada"'),
    'whose claims are no JSON': () => rawToken({ alg: 'RS256', kid: rsaKid, typ: 'JWT' }, '{"sub":'),
    'whose header is null': () => rawToken(null, goodClaims()),
    'whose header is text': () => rawToken('"RS256"', goodClaims()),
    'whose header is no JSON': () => rawToken('{', goodClaims()),
    'of one part': () => 'abc',
    'of two parts': () => 'abc.def',
    'of five parts': () => 'a.b.c.d.e',
    'of dots alone': () => '..',
    'of characters that are no base64': () => '%%%.***.!!!',
    'that is long': () => `${part({ alg: 'RS256', kid: rsaKid })}.${'A'.repeat(12_000)}.AAAA`,
  };

  it.each(Object.entries(forged))('%s gets 401 and says nothing of why it might pass', async (_, make) => {
    const bearer = await make();
    const from = performance.now();
    for (const { status, body, headers } of [await ask(bearer), await provision(bearer)]) {
      expect([status, body.code]).toEqual([401, 'UNAUTHORIZED']);
      expect(headers.get('www-authenticate')).toBe('Bearer');
      expect(JSON.stringify(body)).not.toMatch(/ at |node_modules|jsonwebtoken|jose/);
    }
    expect(performance.now() - from).toBeLessThan(1000);
  });

  it('in the query of the stream is checked as any other', async () => {
    const bearer = encodeURIComponent(await token({ key: stranger.privateKey }));
    expect((await app.call('GET', `/api/v1/dashboard/stream?token=${bearer}`, {})).status).toBe(401);
  });

  it('over the size of all headers is refused before it is read', async () => {
    const { status } = await ask('A'.repeat(20_000));
    expect([400, 401, 431]).toContain(status);
  });

  it('shows in no line of the log', async () => {
    const good = await token();
    await ask(good);
    expect(JSON.stringify(app.lines)).not.toContain(good);
    expect(app.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('the settings of tokens', () => {
  it('say which of the two algorithms are taken', async () => {
    const claims = { org: 'shop' };
    expect((await provision(await token({ claims }), rsaOnly)).status).toBe(200);
    const byCurve = await token({ key: ec.privateKey, header: { alg: 'ES256', kid: ecKid }, claims });
    expect((await ask(byCurve, rsaOnly)).status).toBe(401);
  });

  it('say which claim names the tenant, which several people may share', async () => {
    const first = await provision(await token({ claims: { sub: 'p1', org: 'shared' } }), rsaOnly);
    const second = await provision(await token({ claims: { sub: 'p2', org: 'shared' } }), rsaOnly);
    expect(second.body.tenantId).toBe(first.body.tenantId);
    const without = await ask(await token(), rsaOnly);
    expect([without.status, without.body.code]).toEqual([403, 'FORBIDDEN']);
    expect(without.body.error).toContain('org');
  });

  it('say which claim names a person, by its whole name or by a dotted path', async () => {
    const nameOf = async (org: string, claims: Record<string, unknown>) =>
      (await provision(await token({ claims: { name: 'other', org, ...claims } }), rsaOnly)).body.tenant.name;
    expect(await nameOf('n1', { user_metadata: { full_name: 'Ada Lovelace' } })).toBe('Ada Lovelace');
    const both = { user_metadata: { full_name: 'Ada' }, 'user_metadata.full_name': 'Grace Hopper' };
    expect(await nameOf('n2', both)).toBe('Grace Hopper');
    expect(await nameOf('n3', { user_metadata: 'none' })).not.toBe('other');
  });
});

describe("the issuer's keys", () => {
  it('are fetched once for a flood of tokens with unknown kids', async () => {
    const before = provider.requests.length;
    const flood = await Promise.all(
      Array.from({ length: 100 }, async (_, i) =>
        ask(await token({ key: stranger.privateKey, header: { kid: `unknown-${i}` } })),
      ),
    );
    expect(flood.filter(({ status }) => status !== 401)).toEqual([]);
    expect(provider.requests.length - before).toBeLessThanOrEqual(1);
    expect((await ask(await token())).status).toBe(200);
  });

  it.each([
    ['an error', 500, 'no'],
    ['what is no JSON', 200, '<html>'],
    ['what is no set of keys', 200, '{"keys":7}'],
    ['more than there may be', 200, `{"keys":[],"more":"${'x'.repeat(2_000_000)}"}`],
  ])(
    'that come as %s are asked for once, not by each request, and no token is called wrong',
    async (_, status, text) => {
      const broken = await startHttpSink({ respond: (_request, response) => response.writeHead(status).end(text) });
      const tokenKeys = createRemoteTokenKeys({ url: broken.url });
      const without = await startApp({ replace: () => ({ tokenKeys }), delivers: false });
      const bearer = await token();
      const asked = await Promise.all(Array.from({ length: 20 }, () => ask(bearer, without)));
      asked.push(await ask(bearer, without));
      for (const reply of asked) expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '1']);
      expect(broken.requests).toHaveLength(1);
      await without.close();
      await broken.close();
    },
  );
});

describe('a token that is wrong in one claim', () => {
  const wrong: Readonly<Record<string, Signing>> = {
    aud: { claims: { aud: 'shop' } },
    iss: { claims: { iss: 'https://elsewhere.test' } },
    exp: { claims: { exp: Math.floor(Date.now() / 1000) - 60 } },
    nbf: { claims: { nbf: Math.floor(Date.now() / 1000) + 600 } },
    signature: { key: stranger.privateKey },
  };

  it.each(Object.entries(wrong))(
    '%s: is told in the log line, and in the answer where that is wanted',
    async (claim, signing) => {
      const bearer = await token(signing);
      const silent = await ask(bearer);
      expect([silent.status, silent.body.error, silent.body.details]).toEqual([
        401,
        'The bearer token is not valid.',
        [],
      ]);
      const telling = await ask(bearer, tellingClaims);
      expect([telling.status, telling.body.details.map(({ path }: { path: string }) => path)]).toEqual([401, [claim]]);
      expect(telling.body.error).toMatch(new RegExp(`^The bearer token is not valid. ${claim}: `));
      for (const [{ lines }, { body }] of [
        [app, silent],
        [tellingClaims, telling],
      ] as const) {
        const line = lines.find(
          ({ message, fields }) => message === 'request' && fields['requestId'] === body.requestId,
        );
        expect(line?.fields).toMatchObject({ status: 401, code: 'UNAUTHORIZED', fields: [claim] });
      }
    },
  );
});

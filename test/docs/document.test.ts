// GET /openapi.json and /docs: the document is valid, its examples are, and the page needs nothing from elsewhere.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';

import type { App, Reply } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import type { Contract } from './contract.ts';
import { createContract } from './contract.ts';

let app: App;
let reply: Reply;
let contract: Contract;

beforeAll(async () => {
  app = await startApp({ delivers: false });
  reply = await app.call('GET', '/openapi.json', {});
  contract = createContract(reply.body);
});
afterAll(() => app.close());

describe('the OpenAPI document', () => {
  it('is served as JSON to everyone', () => {
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(reply.headers.get('x-request-id')).toMatch(/^req_/);
    expect(reply.body.openapi).toBe('3.1.0');
  });

  it('comes small to whoever takes gzip, and is the same for whoever does not', async () => {
    const answers = ['gzip, deflate', 'identity', 'gzip;q=0'].map((encodings) =>
      fetch(`${app.url}/openapi.json`, { headers: { 'accept-encoding': encodings } }),
    );
    const [small, ...plain] = await Promise.all(answers);
    expect(small?.headers.get('content-encoding')).toBe('gzip');
    const lengths = [small, ...plain].map((answer) => Number(answer?.headers.get('content-length')));
    expect((lengths[0] ?? Infinity) * 5).toBeLessThan(lengths[1] ?? 0);
    for (const answer of plain) {
      expect([answer.headers.get('content-encoding'), answer.headers.get('vary')]).toEqual([null, 'accept-encoding']);
      expect(await answer.json()).toEqual(reply.body);
    }
    expect(await small?.json()).toEqual(reply.body);
  });

  it('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(reply.body));
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
  });

  it('refers to nothing that it lacks, and has nothing that nobody refers to', () => {
    const text = JSON.stringify(reply.body);
    const named = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name));
    const told = [...text.matchAll(/The data of [^:]+: `(\w+)`/g)].map(([, name]) => name);
    expect(new Set([...named, ...told])).toEqual(new Set(Object.keys(reply.body.components.schemas)));
  });

  it('has an id of its own, a summary, a success and an example for every operation', () => {
    const { operations } = contract;
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
    for (const { document } of operations) {
      const [status = '', answer] = Object.entries(document.responses)[0] ?? [];
      expect(status).toMatch(/^20[012]$/);
      for (const media of Object.values(answer?.content ?? {})) expect(media.example).toBeDefined();
      expect(document).toMatchObject({ summary: expect.any(String), responses: { 500: {}, 503: {} } });
    }
  });

  it('has examples that its own schemas take', () => {
    expect(contract.badExamples()).toEqual([]);
  });

  it('says of a page size what it is, and of a free object that it is one', () => {
    const { parameters } = reply.body.paths['/notifications'].get;
    const limit = parameters.find(({ name }: { name: string }) => name === 'limit');
    expect(limit.schema).toEqual({ type: 'integer', minimum: 1, maximum: 100, default: 20 });
    const body = reply.body.paths['/notify'].post.requestBody.content['application/json'].schema;
    expect(body.properties.data.type).toBe('object');
    expect(body).toMatchObject({ required: ['channel', 'recipient'], additionalProperties: false });
  });

  it('says of every field with a pattern that it is text, and of every open object what it may hold', () => {
    const wrong = (schema: Json, at: string): string[] => [
      ...('pattern' in schema && schema['type'] !== 'string' ? [`${at} has a pattern and no type`] : []),
      ...('patternProperties' in schema ? [`${at} names its fields by a pattern`] : []),
      ...(schema['type'] === 'object' && !('properties' in schema) && !('additionalProperties' in schema)
        ? [`${at} is open and says nothing of its fields`]
        : []),
    ];
    expect(everyObject(reply.body).flatMap(([at, schema]) => wrong(schema, at))).toEqual([]);
  });

  it('names no header that a page of CORS_ORIGINS may not send with a token, or not read', async () => {
    const origin = 'https://dashboard.test';
    const forPages = contract.operations.filter(({ document: { security } }) =>
      security.some((scheme) => 'bearer' in scheme || 'inboxToken' in scheme),
    );
    expect(forPages.length).toBeGreaterThan(20);
    const namesIn = (headers: Headers, name: string) => headers.get(name)?.split(', ') ?? [];
    for (const { method, path, document } of forPages) {
      const at = `/api/v1${path.replaceAll(/\{\w+\}/g, 'x')}`;
      const preflight = await app.call('OPTIONS', at, { origin, 'access-control-request-method': method });
      const sent = (document.parameters ?? []).flatMap(({ name, in: place }) => (place === 'header' ? [name] : []));
      const told = Object.values(document.responses).flatMap(({ headers }) => Object.keys(headers));
      const refused = await app.call(method, at, { origin });
      expect([path, namesIn(preflight.headers, 'access-control-allow-headers')]).toEqual([
        path,
        expect.arrayContaining(sent),
      ]);
      expect([path, namesIn(refused.headers, 'access-control-expose-headers')]).toEqual([
        path,
        expect.arrayContaining(told),
      ]);
    }
  });

  it('describes bodies of requests without rules between fields, which generators make other types of', () => {
    const bodies = contract.operations.flatMap(({ id, document: { requestBody } }) =>
      Object.values(requestBody?.content ?? {}).map(({ schema }) => [id, schema] as const),
    );
    expect(bodies.length).toBeGreaterThan(5);
    for (const [id, schema] of bodies) {
      for (const [at, part] of everyObject(schema, id)) {
        const rules = ['allOf', 'anyOf', 'oneOf', 'not'].filter((rule) => 'properties' in part && rule in part);
        expect([at, rules]).toEqual([at, []]);
      }
    }
  });

  it('gives no two names that are one in the style of another language', () => {
    const styled = (names: readonly string[]) => names.map((name) => name.replaceAll(/[-_.]/g, '').toLowerCase());
    for (const [at, { properties }] of everyObject(reply.body)) {
      if (typeof properties !== 'object' || properties === null) continue;
      const names = styled(Object.keys(properties));
      expect([at, names.length]).toEqual([at, new Set(names).size]);
    }
    const components = Object.keys(reply.body.components.schemas);
    // What Go generates of X has a function NewX.
    expect(components.filter((name) => components.includes(`New${name}`))).toEqual([]);
  });
});

type Json = Readonly<Record<string, unknown>>;

/** Every object in a document, with where it stands; without examples, which are values. */
function everyObject(value: unknown, at = ''): [at: string, object: Json][] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value).filter(([name]) => name !== 'example' && name !== 'examples');
  const deeper = inner.flatMap(([name, one]) => everyObject(one, `${at}/${name}`));
  return Array.isArray(value) ? deeper : [[at, value as Json], ...deeper];
}

describe('the page of the documentation', () => {
  it('loads what it needs from this address alone', async () => {
    const { status, headers, body } = await app.call('GET', '/docs', {});
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|unsafe-eval|upgrade-insecure-requests/);
    // But for the code that is shown.
    expect(String(body).replaceAll(/<pre.*?<\/pre>/gs, '')).not.toMatch(/https?:\/\//);
    const links = [...String(body).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
    expect(links).toContain('docs/swagger-ui-bundle.js');
    for (const link of links) {
      // Relative, so that it works where a proxy has it under a path of its own.
      const { pathname } = new URL(link, 'http://proxy.test/herald/docs');
      expect(pathname).toMatch(/^\/herald\//);
      const path = pathname.replace('/herald', '');
      expect([path, (await app.call('GET', path, {})).status]).toEqual([path, 200]);
    }
    const slashed = await fetch(`${app.url}/docs/`, { redirect: 'manual' });
    expect([slashed.status, slashed.headers.get('location')]).toEqual([308, '../docs']);
  });

  it('serves its assets and nothing else of their folder', async () => {
    const types = new Map([
      ['swagger-ui.css', 'text/css'],
      ['swagger-ui-bundle.js', 'text/javascript'],
      ['start.js', 'text/javascript'],
    ]);
    for (const [name, type] of types) {
      const { headers } = await app.call('GET', `/docs/${name}`, {});
      expect(headers.get('content-type')).toContain(type);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
    for (const name of ['package.json', '../package.json', '%2e%2e/package.json', 'index.html', 'swagger-ui.js.map'])
      expect((await app.call('GET', `/docs/${name}`, {})).status).toBe(404);
  });

  it('takes GET and HEAD alone', async () => {
    for (const path of ['/openapi.json', '/docs', '/docs/start.js']) {
      const { status, headers, body } = await app.call('POST', path, {}, {});
      expect([status, headers.get('allow'), body.code]).toEqual([405, 'GET, HEAD', 'METHOD_NOT_ALLOWED']);
      expect((await app.call('HEAD', path, {})).status).toBe(200);
    }
  });
});

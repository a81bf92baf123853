// Clients that generators make of the OpenAPI document compile, and three of them do the main job: send, read back, filter, be refused.

import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald, token } from '../support/herald.ts';
import { clientTypes, clientTypesPath } from './client-types.ts';
import type { Tools } from './tools.ts';
import { command, fetchTools } from './tools.ts';

/** The first run downloads some 100 MB and compiles Go's own packages. */
const fetchMaxMs = 900_000;
const generateMaxMs = 300_000;

const jobs = fileURLToPath(new URL('jobs', import.meta.url));
let tools: Tools;
let dataDir: DataDir;
let service: Herald;
let work: string;
let document: string;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  tools = await fetchTools();
  dataDir = await makeDataDir();
  service = await startHerald(dataDir);
  // Who filters by metadata doesn't see it.
  await service.notify({ channel: 'IN_APP', recipient: 'nobody', body: 'x', metadata: { job: 'none' } });
  work = await mkdtemp(join(tmpdir(), 'herald-clients-'));
  document = join(work, 'openapi.json');
  const answer = await service.call('GET', '/openapi.json');
  await writeFile(document, JSON.stringify(answer.body));
  env = { API_URL: `${service.url}/api/v1`, API_KEY: service.apiKey, API_TOKEN: await token(dataDir) };
}, fetchMaxMs);

afterAll(async () => {
  await service?.stop();
  await dataDir?.remove();
  await rm(work ?? '', { recursive: true, force: true });
});

/** What each of the three saw, whatever its language. */
const seenBy = (name: string) => ({
  accepted: 'queued',
  body: 'Order 17 of Ada',
  data: { name: 'Ada', order: { number: 17 } },
  inbox: ['Hello'],
  unread: 1,
  updated: 1,
  scopes: ['notify'],
  key: 'nk_',
  preview: '1234 ',
  missing: ['other'],
  config: { fromName: name, fromEmail: 'hello@acme.example' },
  listed: [true],
  refused: ['BAD_REQUEST', 'recipient'],
});

const folderOf = async (name: string): Promise<string> => {
  const folder = join(work, name);
  await mkdir(folder);
  return folder;
};

/** With a job or another user of the client beside it, all of it as strict as can be. */
const compile = (cwd: string, file: string, ...more: readonly string[]) => {
  const checks = ['--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--lib', 'es2022,dom,dom.iterable'];
  return command(process.execPath, [tools.tsc, ...checks, '--moduleResolution', 'bundler', ...more, file], { cwd });
};

const openApiGenerator = (cwd: string, generator: string, options: readonly string[] = []) =>
  command(
    'java',
    ['-jar', tools.jar, 'generate', '-i', document, '-g', generator, '-o', join(cwd, 'client'), ...options],
    {
      cwd,
    },
  );

const importAll = `
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
print(len([importlib.import_module(one.name) for one in pkgutil.walk_packages(package.__path__, sys.argv[1] + '.')]))
`;

describe('the client of', () => {
  it.concurrent(
    'openapi-typescript compiles, and knows requests and answers as they are',
    async () => {
      const cwd = await folderOf('openapi-typescript');
      await command(process.execPath, [tools.openApiTypescript, document, '-o', join(cwd, 'client.ts')], { cwd });
      await cp(join(jobs, 'types.ts'), join(cwd, 'types.ts'));
      await compile(cwd, 'types.ts', '--noEmit', '--module', 'esnext');
    },
    generateMaxMs,
  );

  it.concurrent(
    'this project has types of the present document: npm run client:types makes them',
    async () => expect(await readFile(clientTypesPath, 'utf8')).toBe(await clientTypes()),
    generateMaxMs,
  );

  it.concurrent(
    '@hey-api/openapi-ts compiles and does the main job',
    async () => {
      const cwd = await folderOf('hey-api');
      await command(process.execPath, [tools.heyApi, '-i', document, '-o', join(cwd, 'client')], { cwd });
      await cp(join(jobs, 'job.ts'), join(cwd, 'job.ts'));
      const globals = 'declare const process: { readonly env: Readonly<Record<string, string | undefined>> };\n';
      await writeFile(join(cwd, 'process.d.ts'), globals);
      await compile(cwd, 'job.ts', 'process.d.ts', '--module', 'commonjs', '--outDir', 'js');
      const printed = await command(process.execPath, [join(cwd, 'js/job.js')], { cwd, env });
      expect(JSON.parse(printed)).toEqual(seenBy('typescript'));
    },
    generateMaxMs,
  );

  it.concurrent(
    'openapi-python-client can be imported whole and does the main job',
    async () => {
      const cwd = await folderOf('openapi-python-client');
      const made = ['--meta', 'none', '--output-path', join(cwd, 'herald'), '--fail-on-warning'];
      const config = join(cwd, 'config.yaml');
      // Its formatter is no part of what is tested.
      await writeFile(config, 'post_hooks: []\n');
      await command(tools.openApiPythonClient, ['generate', '--path', document, '--config', config, ...made], { cwd });
      await cp(join(jobs, 'job.py'), join(cwd, 'job.py'));
      expect(Number(await command(tools.python, ['-c', importAll, 'herald'], { cwd }))).toBeGreaterThan(50);
      const printed = await command(tools.python, ['job.py'], { cwd, env });
      expect(JSON.parse(printed)).toEqual(seenBy('python'));
    },
    generateMaxMs,
  );

  it.concurrent(
    'openapi-generator for Go compiles and does the main job',
    async () => {
      const cwd = await folderOf('go');
      const names = ['--git-host', 'example.com', '--git-user-id', 'herald', '--git-repo-id', 'client'];
      await openApiGenerator(cwd, 'go', [...names, '--additional-properties=packageName=herald']);
      await mkdir(join(cwd, 'client/job'));
      await cp(join(jobs, 'job.go'), join(cwd, 'client/job/job.go'));
      const built = join(cwd, 'job');
      await command('go', ['build', '-o', built, './job'], { cwd: join(cwd, 'client') });
      expect(JSON.parse(await command(built, [], { cwd, env }))).toEqual(seenBy('go'));
    },
    generateMaxMs,
  );

  it.concurrent(
    'openapi-generator for Python can be imported whole',
    async () => {
      const cwd = await folderOf('python');
      await openApiGenerator(cwd, 'python');
      const imported = await command(tools.python, ['-c', importAll, 'openapi_client'], { cwd: join(cwd, 'client') });
      expect(Number(imported)).toBeGreaterThan(50);
    },
    generateMaxMs,
  );

  it.concurrent(
    'openapi-generator for typescript-fetch compiles',
    async () => {
      const cwd = await folderOf('typescript-fetch');
      await openApiGenerator(cwd, 'typescript-fetch');
      await compile(cwd, 'client/index.ts', '--noEmit', '--module', 'esnext');
    },
    generateMaxMs,
  );
});

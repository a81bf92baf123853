// The typed client as it is published: what its package holds, and the main job and a stream with it by each Node that it is for, against a running service.
// On real engines: HERALD_TEST_ENGINES=real before it.

import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { command } from '../generators/tools.ts';
import { freePort } from '../support/free-ports.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald, token } from '../support/herald.ts';
import { until } from '../support/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Nodes come from the registry, some 40 MB each. */
const fetchMaxMs = 300_000;
const jobMaxMs = 60_000;
const jobs = ['job.ts', 'stream.ts'];

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

let dataDir: DataDir;
let service: Herald;
let port: string;
/** 20, 22 and the one that runs this. */
let nodes: readonly string[];
/** Inside the project, where the package's own build finds the compiler. */
let work: string;
let packed: Packed;

beforeAll(async () => {
  dataDir = await makeDataDir();
  port = String(await freePort());
  service = await startHerald(dataDir, { PORT: port });
  await mkdir(join(root, '.tmp'), { recursive: true });
  work = await mkdtemp(join(root, '.tmp/client-'));
  const own = join(work, 'own');
  await cp(join(root, 'clients/typescript'), own, { recursive: true });
  const printed = await command(
    'npm',
    ['pack', '--json', '--loglevel=error', '--ignore-scripts=false', '--pack-destination', work],
    {
      cwd: own,
    },
  );
  [packed] = JSON.parse(printed.slice(printed.indexOf('[\n'))) as [Packed];
  const installed = join(work, 'node_modules/@herald-notifications/client');
  await mkdir(installed, { recursive: true });
  await command('tar', ['-xzf', join(work, packed.filename), '-C', installed, '--strip-components=1'], { cwd: work });
  for (const job of jobs) await cp(join(root, 'test/clients/jobs', job), join(work, job));
  await writeFile(join(work, 'package.json'), '{"type":"module"}');
  nodes = await Promise.all(['20', '22', null].map(nodeOf));
}, fetchMaxMs);

afterAll(async () => {
  await service?.stop();
  await dataDir?.remove();
  await rm(work ?? '', { recursive: true, force: true });
});

it('the package holds its build, types, license and page, and needs no other', async () => {
  const paths = packed.files.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining(['LICENSE', 'README.md', 'dist/index.js', 'dist/index.d.ts', 'package.json']),
  );
  expect(
    paths.filter((path) => !/^(LICENSE|README\.md|package\.json|dist\/[\w-]+(\.d)?\.(ts|js))$/.test(path)),
  ).toEqual([]);
  const built = JSON.parse(await readFile(join(work, 'own/package.json'), 'utf8')) as { dependencies?: object };
  expect(built.dependencies).toBeUndefined();
  expect(await readFile(join(root, 'clients/typescript/LICENSE'), 'utf8')).toBe(
    await readFile(join(root, 'LICENSE'), 'utf8'),
  );
});

it(
  'its types compile as strictly as can be, with those of Node and with those of a browser',
  async () => {
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const strict = [
      '--ignoreConfig',
      '--strict',
      '--skipLibCheck',
      'false',
      '--exactOptionalPropertyTypes',
      '--target',
      'es2023',
    ];
    const forNode = ['--module', 'nodenext', '--types', 'node', '--lib', 'es2023', '--outDir', 'built'];
    await command(process.execPath, [tsc, ...strict, ...forNode, ...jobs], { cwd: work });
    await writeFile(join(work, 'page.ts'), "export * from '@herald-notifications/client';\n");
    const forPages = [
      '--module',
      'esnext',
      '--moduleResolution',
      'bundler',
      '--types',
      '',
      '--lib',
      'es2023,dom,dom.iterable',
    ];
    await command(process.execPath, [tsc, ...strict, ...forPages, '--noEmit', 'page.ts'], { cwd: work });
  },
  jobMaxMs,
);

it(
  'the main job is done on Node 20, 22 and 24',
  async () => {
    const bearer = await token(dataDir);
    for (const node of nodes) {
      const printed = await command(node, ['built/job.js', service.url, service.apiKey, bearer], { cwd: work });
      expect(JSON.parse(printed)).toEqual({
        body: 'Order 17',
        accepted: 2,
        bodies: ['Order 17', 'three', 'two'],
        updated: 3,
        refused: ['BAD_REQUEST', 'recipient'],
        forged: 'WebhookVerificationError',
      });
    }
  },
  jobMaxMs,
);

it(
  'a stream goes on over a service that is killed, each message once, on Node 20, 22 and 24',
  async () => {
    const streams = await Promise.all(nodes.map(startStream));
    for (const { lines } of streams) await until(() => lines().includes('connected'), { what: 'an open stream' });
    const send = async (from: number) => {
      for (const { recipient } of streams)
        for (let i = from; i < from + 10; i++)
          expect((await service.notify({ channel: 'IN_APP', recipient, body: String(i) })).status).toBe(202);
    };
    await send(0);
    await service.kill();
    service = await startHerald(dataDir, { PORT: port });
    await send(10);
    for (const { lines, ended } of streams) {
      expect(await ended).toBe(0);
      const bodies = lines().filter((line) => line !== 'connected');
      expect(bodies.map(Number).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i));
      expect(lines().length - bodies.length).toBeGreaterThan(1);
    }
  },
  jobMaxMs * 2,
);

/** The job of jobs/stream.ts, until 20 notifications of its own recipient have come. */
async function startStream(node: string) {
  const version = (await command(node, ['--version'], { cwd: work })).trim();
  const job = spawn(node, ['built/stream.js', service.url, service.apiKey, '20'], {
    cwd: work,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: jobMaxMs,
  });
  let printed = '';
  job.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  return {
    recipient: `stream-${version}`,
    lines: () => printed.split('\n').slice(0, -1),
    ended: new Promise<number | null>((resolve) => job.once('close', (code) => resolve(code))),
  };
}

/** @param major null: the one that runs this */
async function nodeOf(major: string | null): Promise<string> {
  if (major === null) return process.execPath;
  const folder = join(work, `node-${major}`);
  const name = `node-${process.platform}-${process.arch}`;
  const flags = ['--silent', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder];
  await mkdir(folder);
  await command('npm', ['install', ...flags, `${name}@${major}`], { cwd: folder });
  return join(folder, 'node_modules', name, 'bin/node');
}

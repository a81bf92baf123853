// The typed client as it is published: what its package holds, and the main job done with it by each Node that it is for, against a running service.

import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { command } from '../generators/tools.ts';
import type { DataDir, Herald } from '../support/herald.ts';
import { makeDataDir, startHerald, token } from '../support/herald.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Nodes come from the registry, some 40 MB each. */
const fetchMaxMs = 300_000;
const jobMaxMs = 60_000;

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

let dataDir: DataDir;
let service: Herald;
/** Inside the project, where the package's own build finds the compiler. */
let work: string;
let packed: Packed;

beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startHerald(dataDir);
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
  await cp(join(root, 'test/clients/jobs/job.ts'), join(work, 'job.ts'));
  await writeFile(join(work, 'package.json'), '{"type":"module"}');
}, jobMaxMs);

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
    await command(process.execPath, [tsc, ...strict, ...forNode, 'job.ts'], { cwd: work });
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
    const nodes = await Promise.all(['20', '22', null].map(nodeOf));
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
  fetchMaxMs,
);

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

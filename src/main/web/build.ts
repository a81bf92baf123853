// Makes what browsers load of the sources in dashboard/ and clients/: bundled by esbuild, named by what is in it, compressed once.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

import type { BuildOptions, BuildResult, Metafile } from 'esbuild';

import type { WebAsset } from '../../api/web.ts';

export const root = fileURLToPath(new URL('../../../', import.meta.url));

/** What the bundles are made of. package.json names the versions of the libraries and of the bundler. */
const sourceFolders = ['dashboard', 'clients/inbox', 'clients/typescript/src', 'src/main/web'];
const sourceFiles = ['package.json'];

const targets = ['es2022', 'chrome120', 'firefox121', 'safari17'];

export function hasSources(): boolean {
  return existsSync(join(root, 'dashboard/main.tsx'));
}

/** Names a state of the sources: what is built of the same is the same. */
export async function sourcesStamp(): Promise<string> {
  const hash = createHash('sha256');
  for (const path of await sourcePaths()) {
    hash.update(`${relative(root, path).replaceAll('\\', '/')}\0`);
    hash.update(await readFile(path));
  }
  return hash.digest('hex').slice(0, 16);
}

async function sourcePaths(): Promise<string[]> {
  const inFolders = await Promise.all(
    sourceFolders.map(async (folder) => {
      const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    }),
  );
  return [...inFolders.flat(), ...sourceFiles.map((name) => join(root, name))].toSorted();
}

/** Rejects with esbuild's own words when the sources are wrong or esbuild isn't installed. */
export async function buildWeb(): Promise<WebAsset[]> {
  // Loaded when there is something to build: most starts don't pay for it.
  const { build, stop } = await import('esbuild');
  const usual: BuildOptions & { write: false } = {
    absWorkingDir: root,
    bundle: true,
    format: 'esm',
    target: targets,
    minify: true,
    legalComments: 'none',
    write: false,
    logLevel: 'silent',
  };
  try {
    const inbox = await build({ ...usual, entryPoints: ['clients/inbox/element.ts'], outfile: 'inbox.js' });
    const result = await build({
      ...usual,
      entryPoints: ['dashboard/main.tsx', 'dashboard/styles/main.css', 'dashboard/favicon.svg'],
      outdir: 'assets',
      entryNames: '[name]-[hash]',
      chunkNames: '[name]-[hash]',
      assetNames: '[name]-[hash]',
      splitting: true,
      jsx: 'automatic',
      jsxImportSource: 'preact',
      loader: { '.svg': 'copy' },
      metafile: true,
    });
    return [...(await assetsOf(result)), ...(await inboxAssets(inbox))];
  } finally {
    await stop();
  }
}

async function assetsOf({ outputFiles, metafile }: BuildResult<{ write: false; metafile: true }>): Promise<WebAsset[]> {
  const files = outputFiles.map(({ path, contents }) => ({
    path: `/dashboard/assets/${relative(join(root, 'assets'), path).replaceAll('\\', '/')}`,
    isForever: true,
    text: Buffer.from(contents),
  }));
  const pages = await Promise.all(
    Object.entries(pageSources).map(async ([path, source]) => {
      const text = await readFile(join(root, source), 'utf8');
      return { path, isForever: false, text: Buffer.from(withNames(text, metafile)) };
    }),
  );
  return Promise.all([...files, ...pages].map(compressed));
}

/** The element for other people's pages, under names that stay. */
async function inboxAssets({ outputFiles }: BuildResult<{ write: false }>): Promise<WebAsset[]> {
  const declaration = await readFile(join(root, 'clients/inbox/declaration.d.ts'));
  const script = Buffer.from(outputFiles[0]?.contents ?? []);
  return Promise.all([
    compressed({ path: '/inbox.js', isForever: false, text: script }),
    compressed({ path: '/inbox.d.ts', isForever: false, text: declaration }),
  ]);
}

const pageSources = { '/dashboard': 'dashboard/index.html', '/dashboard/content': 'dashboard/content.html' };

/**
 * `{{dashboard/main.tsx}}` becomes the name of what is built of it, `{{imports of dashboard/main.tsx}}` links that have what it imports loaded beside it.
 * Links are relative: the page may stand below a proxy's path.
 */
function withNames(page: string, { outputs }: Metafile): string {
  const names = new Map(
    Object.entries(outputs).flatMap(([name, { entryPoint }]) => (entryPoint === undefined ? [] : [[entryPoint, name]])),
  );
  const nameOf = (source: string): string => {
    const name = names.get(source);
    if (name === undefined) throw new Error(`nothing is built of ${source}`);
    return name;
  };
  return page.replaceAll(/\{\{(imports of )?(.+?)\}\}/g, (_, areImports: string | undefined, source: string) => {
    if (areImports === undefined) return `dashboard/${nameOf(source)}`;
    const links = importsOf(nameOf(source), outputs).map(
      (name) => `<link rel="modulepreload" href="dashboard/${name}" />`,
    );
    return links.join('\n    ');
  });
}

/** What a file can't begin without, whatever it imports included. */
function importsOf(name: string, outputs: Metafile['outputs'], found = new Set<string>()): readonly string[] {
  for (const { kind, path } of outputs[name]?.imports ?? []) {
    if (kind !== 'import-statement' || found.has(path)) continue;
    found.add(path);
    importsOf(path, outputs, found);
  }
  return [...found];
}

const types: Readonly<Record<string, string>> = {
  '': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ts': 'text/plain; charset=utf-8',
};

async function compressed({
  path,
  isForever,
  text,
}: Pick<WebAsset, 'path' | 'isForever'> & { readonly text: Buffer }): Promise<WebAsset> {
  const brotliOptions = {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: text.length },
  };
  const [br, zipped] = await Promise.all([
    promisify(brotliCompress)(text, brotliOptions),
    promisify(gzip)(text, { level: 9 }),
  ]);
  const type = types[extname(path)];
  if (type === undefined) throw new Error(`${path} is of no type that is known`);
  const smaller = (packed: Buffer) => packed.length < text.length;
  return {
    path,
    type,
    isForever,
    plain: text,
    ...(smaller(br) ? { br } : {}),
    ...(smaller(zipped) ? { gzip: zipped } : {}),
  };
}

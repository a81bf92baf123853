// The generators of clients: fetched once from the package registries into .tmp/generators, and run. Java, Go and Python have to be there: who lacks one is told.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '../..');
const run = promisify(execFile);

const mark = 'whole';

export type Tools = Awaited<ReturnType<typeof fetchTools>>;

/** What each program is for, and where it comes from. */
const needed = {
  python3: 'openapi-python-client and the Python clients: Debian has it as python3 with python3-venv',
  java: 'openapi-generator: Debian has it as default-jre-headless',
  go: 'the Go client: Debian has it as golang-go; 1.23 or newer',
  npm: 'the generators of TypeScript clients: it comes with Node',
} as const;

export async function fetchTools() {
  await Promise.all(Object.entries(needed).map(([program, use]) => mustBeThere(program, use)));
  const typescript = await fetchTypescriptTools();
  const folder = await fetched('generators', 'requirements.txt', fetchPython);
  const python = join(folder, 'python/bin/python');
  const jar = await command(python, ['-c', 'import openapi_generator_cli as m; print(m.__path__[0])'], { cwd: folder });
  return {
    python,
    /** openapi-generator's jar. */
    jar: join(jar.trim(), 'openapi-generator.jar'),
    openApiPythonClient: join(folder, 'python/bin/openapi-python-client'),
    ...typescript,
    tsc: join(root, 'node_modules/typescript/bin/tsc'),
  };
}

/** Those that npm has: they need nothing else. */
export async function fetchTypescriptTools() {
  const folder = await fetched('generators-node', 'package-lock.json', fetchNode);
  return {
    openApiTypescript: join(folder, 'node_modules/openapi-typescript/bin/cli.js'),
    heyApi: join(folder, 'node_modules/@hey-api/openapi-ts/bin/run.js'),
  };
}

/** @throws with what the program said, when it fails */
export async function command(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<string> {
  const { cwd, env = {} } = options;
  try {
    const environment = { ...process.env, ...env };
    return (await run(program, args, { cwd, env: environment, maxBuffer: 64 * 1024 * 1024 })).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(' ')}\n${stdout.slice(-4000)}\n${stderr.slice(-4000)}`, { cause: error });
  }
}

async function mustBeThere(program: string, use: string): Promise<void> {
  await run(program, [program === 'go' ? 'version' : '--version']).catch(() => {
    throw new Error(`${program} is not on PATH, and needed for ${use}`);
  });
}

/** The folder of what the file pins. A fetch that was interrupted begins again: the mark of a whole one is written last. */
async function fetched(name: string, pins: string, fetchInto: (folder: string) => Promise<void>): Promise<string> {
  const hash = createHash('sha256').update(await readFile(join(here, pins)));
  const folder = join(root, '.tmp', `${name}-${hash.digest('hex').slice(0, 12)}`);
  if (existsSync(join(folder, mark))) return folder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await fetchInto(folder);
  await writeFile(join(folder, mark), '');
  return folder;
}

async function fetchNode(folder: string): Promise<void> {
  for (const name of ['package.json', 'package-lock.json']) await cp(join(here, name), join(folder, name));
  await command('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder });
}

async function fetchPython(folder: string): Promise<void> {
  const python = join(folder, 'python');
  await command('python3', ['-m', 'venv', python], { cwd: folder });
  await command(join(python, 'bin/pip'), ['install', '--quiet', '-r', join(here, 'requirements.txt')], { cwd: folder });
}

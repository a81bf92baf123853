// A signal that comes while the program of a container's process 1 is loaded.

import { expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const module = new URL('../../bin/early-signals.js', import.meta.url).href;
const signals = new URL('../../src/main/signals.ts', import.meta.url).href;

function run(script: string) {
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let told = '';
  child.stdout.on('data', (chunk: Buffer) => (told += chunk.toString()));
  return { child, told: () => told };
}

it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const)(
  '%s ends nothing and is told to whoever listens for it later',
  async (signal) => {
    const { child, told } = run(`
      import { keepSignals } from ${JSON.stringify(module)};
      const wasTold = keepSignals(process);
      console.log(await wasTold());
      while (!(await wasTold()));
      const { firstSignal } = await import(${JSON.stringify(signals)});
      console.log(await firstSignal());`);
    await once(child.stdout, 'data');
    child.kill(signal);
    child.kill(signal);
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(told()).toBe(`false\n${signal}\n`);
  },
);

it('one that comes after somebody listens is told once', async () => {
  const { child, told } = run(`
    import { keepSignals } from ${JSON.stringify(module)};
    keepSignals(process);
    process.on('SIGTERM', (name) => { console.log(name); setTimeout(() => process.exit(3), 50); });
    console.log('listens');
    setInterval(() => {}, 1000);`);
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([3, null]);
  expect(told()).toBe('listens\nSIGTERM\n');
});

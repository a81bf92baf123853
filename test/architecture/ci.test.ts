// Every run of tests that .ci/run makes counts in what it says at its end.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** A program without types. */
const noTimeLeftModule: string = '../../.ci/no-time-left.mjs';

it('a run that fails without a report is counted as one failed, whichever it is', async () => {
  const steps = await stepsOf();
  const runs = await runsOf();
  expect(runs).toEqual(expect.arrayContaining(['embedded', 'engines']));
  for (const failing of runs) {
    const folder = await mkdtemp(join(tmpdir(), 'herald-ci-'));
    try {
      for (const { name } of steps) await writeFile(join(folder, `${name}.status`), name === failing ? '1' : '0');
      const report = {
        testResults: [{ name: 'a.test.ts', status: 'passed', assertionResults: [{ status: 'passed' }] }],
      };
      for (const name of runs)
        if (name !== failing) await writeFile(join(folder, `${name}.json`), JSON.stringify(report));
      const { code, stdout } = await totalOf(folder);
      expect({ failing, code, last: stdout.trim().split('\n').at(-1) }).toEqual({
        failing,
        code: 1,
        last: `${runs.length - 1} passed, 1 failed`,
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  }
});

it('what had no time on engines is named and neither passed nor failed, and what failed there has failed', async () => {
  const { noTimeLeft } = (await import(noTimeLeftModule)) as { noTimeLeft: string };
  const passed = { name: 'a.test.ts', status: 'passed', message: '', assertionResults: [{ status: 'passed' }] };
  const late = { name: join(root, 'late.test.ts'), status: 'failed', message: `x ${noTimeLeft}`, assertionResults: [] };
  const broken = { name: 'b.test.ts', status: 'failed', message: 'x is not a function', assertionResults: [] };
  for (const [testResults, expected] of [
    [[passed, late], { code: 0, last: '6 passed, 0 failed', again: '' }],
    [[passed, late, broken], { code: 1, last: '6 passed, 1 failed', again: 'b.test.ts' }],
  ] as const) {
    const folder = await mkdtemp(join(tmpdir(), 'herald-ci-'));
    try {
      for (const name of ['check', 'first-start', ...(await runsOf())]) {
        await writeFile(join(folder, `${name}.status`), name === 'engines' ? '1' : '0');
        const report = { testResults: name === 'engines' ? testResults : [passed] };
        await writeFile(join(folder, `${name}.json`), JSON.stringify(report));
      }
      const { code, stdout } = await totalOf(folder);
      const again = await results('again', folder, 'engines');
      expect({ code, last: stdout.trim().split('\n').at(-1), again: again.stdout.trim() }).toEqual(expected);
      expect(stdout).toContain('NOT REPEATED engines: no time was left on this machine for: late.test.ts');
    } finally {
      await rm(folder, { recursive: true });
    }
  }
});

it('a test file says so itself when its time is over, unless only engines can show what it shows', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'herald-ci-'));
  try {
    const reports: Record<string, unknown> = {};
    for (const file of ['late.test.ts', 'late.engines.test.ts']) {
      await writeFile(join(folder, file), `test('is', () => {});`);
      const setupFilesAfterEnv = [join(root, '.ci/note-worker.mjs')];
      const config = { rootDir: folder, testMatch: [`**/${file}`], transform: {}, setupFilesAfterEnv };
      const jest = ['node_modules/jest/bin/jest.js', '--json', '--config', JSON.stringify(config)];
      const { stdout } = await ended(process.execPath, ['--experimental-vm-modules', ...jest], {
        ...process.env,
        CI_AGAIN_UNTIL: '1000000000',
        CI_JOURNAL: join(folder, 'journal'),
      });
      const { testResults } = JSON.parse(stdout) as { testResults: readonly { status: string; message: string }[] };
      reports[file] = testResults.map(({ status, message }) => [status, message.includes('CI_NO_TIME_LEFT')]);
    }
    expect(reports).toEqual({ 'late.test.ts': [['failed', true]], 'late.engines.test.ts': [['passed', false]] });
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** All of them together, by name. */
async function runsOf(): Promise<string[]> {
  return (await stepsOf()).filter(({ kind }) => kind === 'tests').map(({ name }) => name);
}

async function stepsOf(): Promise<{ readonly kind: string; readonly name: string }[]> {
  const text = await readFile(join(root, '.ci/run'), 'utf8');
  const steps = text.matchAll(/^(?:\S+=\S+ )?(run|tests) (\S+) \d+m /gm);
  return [...steps].map(([, kind = '', name = '']) => ({ kind, name }));
}

function totalOf(folder: string): Promise<Ended> {
  return results('total', folder);
}

function results(...args: readonly string[]): Promise<Ended> {
  return ended(process.execPath, [join(root, '.ci/results.mjs'), ...args]);
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
}

function ended(command: string, args: readonly string[], env = process.env): Promise<Ended> {
  return promisify(execFile)(command, args, { env }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (failed: Ended) => failed,
  );
}

// Every run of tests that .ci/run makes counts in what it says at its end.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('a run that fails without a report is counted as one failed, whichever it is', async () => {
  const steps = [...(await readFile(join(root, '.ci/run'), 'utf8')).matchAll(/^(run|tests) (\S+) \d+m /gm)];
  const runs = steps.filter(([, kind]) => kind === 'tests').map(([, , name = '']) => name);
  expect(runs).toEqual(expect.arrayContaining(['embedded', 'engines']));
  for (const failing of runs) {
    const folder = await mkdtemp(join(tmpdir(), 'herald-ci-'));
    try {
      for (const [, , name = ''] of steps)
        await writeFile(join(folder, `${name}.status`), name === failing ? '1' : '0');
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

async function totalOf(folder: string): Promise<{ readonly code: number; readonly stdout: string }> {
  const ended = promisify(execFile)(process.execPath, [join(root, '.ci/results.mjs'), 'total', folder]);
  return ended.then(
    ({ stdout }) => ({ code: 0, stdout }),
    (failed: { code: number; stdout: string }) => failed,
  );
}

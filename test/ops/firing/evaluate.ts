// What Prometheus makes of a service that was scraped: which alerts fire at the end, and that each query has an answer.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { stringify } from 'yaml';

import { rulesPath } from '../ops-files.ts';
import type { Seen } from './series.ts';
import { endMinute, stretched, usualEverySeconds } from './series.ts';

const run = promisify(execFile);

/** A machine that has no time for a second is enough for them: they count where they are meant alone. */
const ofSlowMachines = ['HeraldAppendsSlow', 'HeraldAcceptsSlow', 'HeraldLoopBlocked'];

/** What promtool says of it: SUCCESS, or which others fire. */
export function firesExactly(promtool: string, seen: Seen, alerts: readonly string[]): Promise<string> {
  const ignored = ofSlowMachines.filter((name) => !alerts.includes(name));
  return evaluate(promtool, seen, [
    {
      expr: `group by (alertname) (ALERTS{alertstate="firing",alertname!~"${ignored.join('|')}"})`,
      exp_samples: alerts.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
    },
  ]);
}

/** SUCCESS when each of the queries finds at least one number; a rate of nothing is none. */
export function answersEach(promtool: string, seen: Seen, queries: readonly string[]): Promise<string> {
  return evaluate(
    promtool,
    seen,
    queries.map((query) => ({
      expr: `group((${query}) == (${query}))`,
      exp_samples: [{ labels: '{}', value: 1 }],
    })),
  );
}

async function evaluate(promtool: string, seen: Seen, checks: readonly object[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'herald-firing-'));
  try {
    const path = join(folder, 'test.yml');
    const test = {
      interval: `${seen.everySeconds ?? usualEverySeconds}s`,
      input_series: stretched(seen),
      promql_expr_test: checks.map((check) => ({ ...check, eval_time: `${endMinute}m` })),
    };
    const text = stringify({ rule_files: [rulesPath], evaluation_interval: '1m', tests: [test] }, { lineWidth: 0 });
    await writeFile(path, text);
    return await run(promtool, ['test', 'rules', path]).then(
      ({ stdout }) => stdout,
      (error: { readonly stdout: string; readonly stderr: string }) => `${error.stdout}\n${error.stderr}`,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

// The commands that look back, from their options to their exit codes: serve --as-of, stats, compare.

import { readConfig } from './config.ts';
import { type AsOfValues, asOfOptions, compareOptions, statsOptions } from './look-back-options.ts';

/** @throws UsageError; StartError */
export async function serveAsOf(values: AsOfValues): Promise<void> {
  const options = asOfOptions(values);
  const { serveAsOf: serve } = await import('./serve-as-of.ts');
  await serve(readConfig(), options);
}

/** @throws UsageError; StartError */
export async function stats(args: string[]): Promise<void> {
  const options = statsOptions(args);
  const { printStatistics } = await import('./stats.ts');
  await printStatistics(readConfig(), options);
}

/** Exit code 1 where anything differs. @throws UsageError; StartError */
export async function compare(args: string[]): Promise<void> {
  const options = compareOptions(args);
  const { compareReadModels } = await import('./compare.ts');
  if (!(await compareReadModels(readConfig(), options))) process.exitCode = 1;
}

// What copy-log says at its end: what was copied, and what the processes of the cluster are to be started with.

import { existsSync } from 'node:fs';

import type { CopyResult } from '../replay/copy-log.ts';
import type { CopiedSettings } from '../replay/copy-settings.ts';
import type { Config } from './config.ts';
import { dataFiles } from './data-files.ts';

export const alreadyCopied = 'the copy was complete before, nothing was left to do';

/** A line per topic. */
export function copiedSummary(
  { topics, goneEvents, positions }: CopyResult,
  settings: CopiedSettings & { readonly keys: number },
): string {
  const rows: [string, string, string][] = [
    ['topic', 'log.db', 'Kafka'],
    ...topics.map(({ topic, source, target }): [string, string, string] => [topic, String(source), String(target)]),
    ['in all', String(sum(topics.map(({ source }) => source))), String(sum(topics.map(({ target }) => target)))],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, from, to]) => `${name.padEnd(width)}${from.padStart(12)}${to.padStart(12)}`);
  const { tenants, providers, templates, keys } = settings;
  const rest = `positions of groups: ${positions}; tenants: ${tenants}, providers: ${providers}, templates: ${templates}, idempotency keys: ${keys}`;
  const gone = goneEvents === 0 ? '' : `of the events ${goneEvents} had ended with RETENTION, and are in neither\n`;
  return `${lines.join('\n')}\n${gone}${rest}\n`;
}

export function whatToStartWith(config: Config): string {
  const { encryptionSecret, issuerKey } = dataFiles(config.DATA_DIR);
  const secret =
    config.ENCRYPTION_SECRET === null
      ? `The settings stay sealed: start every process with the ENCRYPTION_SECRET that ${encryptionSecret} holds.`
      : 'The settings stay sealed: start every process with the same ENCRYPTION_SECRET as this command.';
  const issuer =
    config.AUTH_JWKS_URL === null && existsSync(issuerKey)
      ? `Bearer tokens of the embedded issuer go on holding where ${issuerKey} is in the DATA_DIR of the process.\n`
      : '';
  return `Copied. ${secret}\n${issuer}Don't start the embedded service on this DATA_DIR again: it would send what is retried and scheduled a second time. Jobs that are over stay there: GET /jobs/:id knows none of them.\n`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

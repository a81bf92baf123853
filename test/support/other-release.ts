// A release of Herald that folds its records otherwise: the sources of this one with the edits that its authors would have made, in a folder of its own.

import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { heraldCommand } from './herald.ts';

export interface OtherRelease {
  /** In place of `heraldCommand`. */
  readonly command: readonly string[];
  remove(): Promise<void>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Of the records' read model and its collections, which have other names in the release after. */
const names = [
  'notifications_2',
  'statistics_2',
  'batches_2',
  'provider_reports',
  'report_statistics',
  'forgotten',
] as const;

/**
 * As CONTRIBUTING says: the former folder stays beside as it is, the read model and its collections have other names, and it says what it replaces. Its
 * documents have a field `foldedAnew`.
 */
export async function makeReleaseWithChangedFold(): Promise<OtherRelease> {
  const folder = await mkdtemp(join(tmpdir(), 'herald-release-'));
  for (const name of ['src', 'schemas', 'bin', 'package.json'])
    await cp(join(root, name), join(folder, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const own = join(folder, 'src/projections/notifications');
  await cp(own, join(folder, 'src/projections/former-notifications'), { recursive: true });
  const renamed = new Set<string>();
  for (const file of ['index', 'document', 'statistics-cells', 'batches', 'reports', 'forgetting'])
    await edit(join(own, `${file}.ts`), (text) =>
      names.reduce((edited, name) => {
        if (edited.includes(`name: '${name}'`)) renamed.add(name);
        return edited.replaceAll(`name: '${name}'`, `name: '${after(name)}'`);
      }, text),
    );
  if (renamed.size !== names.length) throw new Error(`renamed are only ${[...renamed].join(', ')}`);
  await edit(join(own, 'index.ts'), (text) =>
    replaced(
      replaced(
        replaced(
          text,
          'import { isNotificationEvent }',
          "import { notificationsReadModel as former } from '../former-notifications/index.ts';\nimport { isNotificationEvent }",
        ),
        '  definition: {\n',
        `  replaces: { readModel: former, collections: ${JSON.stringify(Object.fromEntries(names.map((name) => [after(name), name])))} },\n  definition: {\n    secretOf: 'notifications_2',\n`,
      ),
      'const document = facts === null ? null : toDocument(facts);',
      'const document = facts === null ? null : { ...toDocument(facts), foldedAnew: true };',
    ),
  );
  const [entry] = heraldCommand.filter((argument) => argument.startsWith(root));
  if (entry === undefined) throw new Error('the command names no file of this release');
  return {
    command: heraldCommand.map((argument) => (argument === entry ? join(folder, entry.slice(root.length)) : argument)),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

function after(name: string): string {
  return `${name.replace(/_2$/, '')}_3`;
}

async function edit(path: string, change: (text: string) => string): Promise<void> {
  await writeFile(path, change(await readFile(path, 'utf8')));
}

function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`the sources have no ${from}`);
  return text.replace(from, () => to);
}

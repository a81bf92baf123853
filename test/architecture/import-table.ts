// The table of ARCHITECTURE.md that says which folder may import what, and whether a file keeps to it.

import { readFileSync } from 'node:fs';
import { posix } from 'node:path';

import type { Import, SourceFile } from './sources.ts';

export interface Rule {
  /** A folder of src/: `domain`, `adapters/sqlite`. */
  readonly folder: string;
  /** Folders of src/; 'everything' lifts the rule. Its own folder is always allowed. */
  readonly folders: readonly string[] | 'everything';
  /** Packages and node modules by name, `node:` for all of Node's, `type x` for its types; 'types' allows what the stripper takes away, 'everything' lifts the rule. */
  readonly packages: readonly string[] | 'types' | 'everything';
}

export function readImportTable(): Rule[] {
  const text = readFileSync(new URL('../../ARCHITECTURE.md', import.meta.url), 'utf8');
  const lines = text.split('\n');
  const head = lines.findIndex((line) => /^\| *folder *\| *may import *\|/.test(line));
  if (head < 0) throw new Error('ARCHITECTURE.md has no table that begins with | folder | may import |');
  const rest = lines.slice(head + 2);
  const end = rest.findIndex((line) => !line.startsWith('|'));
  return rest.slice(0, end).flatMap(parseRow);
}

/** `null` when the import is allowed, else what is wrong with it. */
export function problemWith(file: Pick<SourceFile, 'path'>, imported: Import, rules: readonly Rule[]): string | null {
  const rule = rules.find(({ folder }) => file.path.startsWith(`${folder}/`));
  if (rule === undefined) return `src/${file.path}: no row of ARCHITECTURE.md's table is about its folder`;
  const { specifier } = imported;
  const allowed = specifier.startsWith('.')
    ? mayImportFile(rule, file.path, specifier)
    : mayImportPackage(rule, imported);
  return allowed
    ? null
    : `src/${file.path} imports ${specifier}: ${rule.folder} may not (the table in ARCHITECTURE.md says what it may)`;
}

function mayImportFile(rule: Rule, path: string, specifier: string): boolean {
  if (rule.folders === 'everything') return true;
  const target = posix.join(posix.dirname(path), specifier);
  return [rule.folder, ...rule.folders].some((folder) => target.startsWith(`${folder}/`));
}

function mayImportPackage({ packages }: Rule, { specifier, typeOnly }: Import): boolean {
  if (packages === 'everything') return true;
  if (packages === 'types') return typeOnly;
  return packages.some((allowed) => {
    const name = allowed.replace(/^type /, '');
    if (name !== allowed && !typeOnly) return false;
    return specifier === name || specifier.startsWith(name.endsWith(':') ? name : `${name}/`);
  });
}

function parseRow(line: string): Rule[] {
  const [folders = '', imports = '', packages = ''] = line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
  const named = namesIn(packages);
  return namesIn(folders).map((folder) => ({
    folder,
    folders: imports === 'everything' ? 'everything' : namesIn(imports),
    packages: packages === 'everything' || packages === 'types' ? packages : named,
  }));
}

/** What stands in backticks; prose around it is for people. */
function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

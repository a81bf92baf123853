// herald compare: the read models as of one moment held against those as of another, those in use, or those that were kept: which documents differ, by field
// and count.

import { randomBytes } from 'node:crypto';

import { assertNever } from '../domain/assert-never.ts';
import type { DocumentScan } from '../ports/document-scan.ts';
import type { ReadModelDefinition, ReadModelReader } from '../ports/read-model-store.ts';
import { type CollectionDifference, compareCollections, isDifferent } from '../projections/comparison.ts';
import { projectedReadModels } from '../projections/index.ts';
import { openViewsBeside } from './beside.ts';
import type { Config } from './config.ts';
import { openKept, openLookBack } from './look-back.ts';
import type { CompareOptions } from './look-back-options.ts';
import { createProcess, type Process } from './process.ts';
import { createProgress } from './progress.ts';
import { firstSignal } from './signals.ts';
import { StartError } from './start-error.ts';

/** One of the two. */
interface Side {
  /** `as of 2026-11-22T09:00:00.000Z`. */
  readonly name: string;
  readonly reader: ReadModelReader & DocumentScan;
  readonly definitions: readonly ReadModelDefinition[];
  close(): Promise<void>;
}

/** Prints what differs. @returns whether nothing does. @throws StartError */
export async function compareReadModels(config: Config, options: CompareOptions): Promise<boolean> {
  // What is folded by then goes with the process.
  void firstSignal().then(() => process.exit(130));
  const parts = createProcess(config);
  const sides: Side[] = [];
  try {
    const other = await openOther(config, parts, options.with);
    sides.push(other);
    const secrets = await secretsOf(other);
    const { asOf, keep } = options;
    const one: Side = { name: `as of ${isoOf(asOf)}`, ...(await openLookBack(config, parts, { asOf, keep, secrets })) };
    sides.push(one);
    await checkSecrets(one, secrets);
    return await compareSides(one, other);
  } finally {
    for (const side of sides) await side.close();
    parts.logger.flush();
  }
}

async function openOther(config: Config, parts: Process, other: CompareOptions['with']): Promise<Side> {
  switch (other.kind) {
    case 'live': {
      const views = await openViewsBeside(config, parts);
      const definitions = projectedReadModels.map(({ definition }) => definition);
      return { name: 'in use', definitions, ...views };
    }
    case 'moment':
      return {
        name: `as of ${isoOf(other.asOf)}`,
        ...(await openLookBack(config, parts, { asOf: other.asOf, keep: null, secrets: madeUpSecrets() })),
      };
    case 'folder': {
      const { asOf, version, ...kept } = await openKept(other.folder, parts);
      return { name: `as of ${isoOf(asOf)}, by Herald ${version}`, ...kept };
    }
    default:
      return assertNever(other);
  }
}

/** Terms of a search are hashes under a secret of their store: what is folded to be compared has the other side's. */
async function secretsOf({ reader, definitions }: Side): Promise<ReadonlyMap<string, string>> {
  const secrets = new Map<string, string>();
  for (const { name } of definitions) {
    if (!(await reader.hasCaughtUp(name)))
      throw new StartError(`The read model ${name} is not there, or is still folded from the log's beginning.`);
    const own = projectedReadModels.find(({ definition }) => baseOf(definition.name) === baseOf(name));
    if (own !== undefined) secrets.set(own.definition.name, await reader.secret(name));
  }
  return secrets;
}

/** What was kept has its own. @throws StartError where documents have terms that differ for that alone */
async function checkSecrets({ reader, definitions }: Side, secrets: ReadonlyMap<string, string>): Promise<void> {
  for (const { name, collections } of definitions) {
    const hasTerms = collections.some(({ fields }) => Object.values(fields).includes('texts'));
    if (hasTerms && secrets.has(name) && (await reader.secret(name)) !== secrets.get(name))
      throw new StartError(
        `--keep: the terms of ${name} in that folder were hashed for something else than this comparison. Leave --keep out, or name an empty folder.`,
      );
  }
}

function madeUpSecrets(): ReadonlyMap<string, string> {
  return new Map(projectedReadModels.map(({ definition }) => [definition.name, randomBytes(16).toString('hex')]));
}

async function compareSides(one: Side, other: Side): Promise<boolean> {
  const { pairs, alone } = pairsOf(one, other);
  process.stdout.write(`${one.name}, and ${other.name}\n${alone.map((line) => `${line}\n`).join('')}`);
  let isSame = alone.length === 0;
  const sizes = await Promise.all(
    pairs.flatMap(({ ofOne, ofOther }) => [one.reader.size(ofOne), other.reader.size(ofOther)]),
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const progress = createProgress('compare');
  let done = 0;
  for (const { readModel, ofOne, ofOther } of pairs) {
    const before = { store: one.reader, collection: ofOne };
    const after = { store: other.reader, collection: ofOther };
    const found = await compareCollections(before, after, {
      onCompared: (read) => progress.update((done += read), total),
    });
    process.stdout.write(told(`${readModel}, ${ofOne}`, found, one, other));
    if (isDifferent(found)) isSame = false;
  }
  progress.end(isSame ? 'equal' : 'not equal');
  return isSame;
}

interface Pair {
  readonly readModel: string;
  /** Collections. */
  readonly ofOne: string;
  readonly ofOther: string;
}

/** The collections of both, and a line for what only one has. */
function pairsOf(one: Side, other: Side): { readonly pairs: readonly Pair[]; readonly alone: readonly string[] } {
  const left = collectionsOf(one);
  const right = collectionsOf(other);
  const pairs = [...left].flatMap(([base, { readModel, name: ofOne }]): Pair[] => {
    const counterpart = right.get(base);
    return counterpart === undefined ? [] : [{ readModel, ofOne, ofOther: counterpart.name }];
  });
  const aloneIn = (side: Side, own: typeof left, others: typeof left) =>
    [...own].flatMap(([base, { readModel, name }]) =>
      others.has(base) ? [] : [`${readModel}, ${name}: only ${side.name}`],
    );
  return { pairs, alone: [...aloneIn(one, left, right), ...aloneIn(other, right, left)] };
}

/** `inbox_2` replaced `inbox`: they are held against each other. */
function baseOf(name: string): string {
  return name.replace(/_\d+$/, '');
}

function collectionsOf({
  definitions,
}: Side): ReadonlyMap<string, { readonly readModel: string; readonly name: string }> {
  const all = definitions.flatMap(({ name: readModel, collections }) =>
    collections.map(({ name }) => [baseOf(name), { readModel, name }] as const),
  );
  return new Map(all);
}

function told(collection: string, found: CollectionDifference, one: Side, other: Side): string {
  const { documents, changed, onlyBefore, onlyAfter, fields, examples } = found;
  const lines = [
    `${collection}: ${documents.before} and ${documents.after} documents, ${isDifferent(found) ? `${changed} differ` : 'equal'}`,
  ];
  if (onlyBefore > 0) lines.push(`  ${onlyBefore} only ${one.name}`);
  if (onlyAfter > 0) lines.push(`  ${onlyAfter} only ${other.name}`);
  for (const [field, count] of [...fields].sort(([, a], [, b]) => b - a)) lines.push(`  ${field}: ${count}`);
  for (const { id, kind, fields: differing } of examples) {
    const what = differing.map(({ field, before, after }) => `${field} ${before} -> ${after}`).join('; ');
    const where = kind === 'changed' ? what : `only ${kind === 'onlyBefore' ? one.name : other.name}`;
    lines.push(`  e.g. ${id}: ${where}`);
  }
  return `${lines.join('\n')}\n`;
}

function isoOf(time: number): string {
  return new Date(time).toISOString();
}

// What is sent to a database while a test looks, and what the server says of its plans.

import type { CommandStartedEvent, Db, Document, MongoClient } from 'mongodb';
import { BSON } from 'mongodb';

export interface RecordedCommands {
  /** Those that look for something, each once, in the order in which they were sent. */
  queries(): readonly Document[];
  /** Of all that look for something, in the order in which they were sent: what they were sent to. */
  asked(): readonly string[];
  stop(): void;
}

/** @param client one that monitors its commands */
export function recordCommands(client: MongoClient, db: Db): RecordedCommands {
  const queries = new Map<string, Document>();
  const asked: string[] = [];
  const problems: string[] = [];
  const record = ({ command, commandName, databaseName }: CommandStartedEvent) => {
    if (databaseName !== db.databaseName || commandName === 'explain') return;
    if (withoutPlan.has(commandName)) return;
    if (!withPlan.has(commandName)) problems.push(commandName);
    asked.push(String(command[commandName]));
    for (const query of queriesOf(command)) queries.set(BSON.EJSON.stringify(query), query);
  };
  client.on('commandStarted', record);
  return {
    queries() {
      if (problems.length > 0) throw new Error(`commands that this test doesn't know: ${problems.join(', ')}`);
      return [...queries.values()];
    },
    asked: () => [...asked],
    stop: () => void client.off('commandStarted', record),
  };
}

export interface Explained {
  readonly query: string;
  /** Of the winning plan. */
  readonly stages: readonly string[];
  readonly docsExamined: number;
  readonly keysExamined: number;
}

/** Runs the query (what it would write isn't written) and says how. */
export async function explained(db: Db, query: Document): Promise<Explained> {
  const answer = await db.command({ explain: query, verbosity: 'executionStats' });
  return {
    query: BSON.EJSON.stringify(query),
    stages: valuesAt(answer, 'winningPlan').flatMap((plan) => stagesOf(plan)),
    docsExamined: sum(valuesAt(answer, 'totalDocsExamined')),
    keysExamined: sum(valuesAt(answer, 'totalKeysExamined')),
  };
}

const withPlan = new Set(['find', 'aggregate', 'update', 'delete', 'findAndModify']);
const withoutPlan = words(
  'insert getMore killCursors commitTransaction abortTransaction endSessions ping',
  'create drop listCollections createIndexes dropIndexes listIndexes',
);

/** Of the session, the transaction and the connection: they decide on no plan. */
const envelope = words(
  'lsid txnNumber autocommit startTransaction readConcern writeConcern maxTimeMS',
  '$db $clusterTime $readPreference ordered bypassDocumentValidation stmtId',
);

function words(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.join(' ').split(' '));
}

function queriesOf(command: Document): Document[] {
  const query = Object.fromEntries(Object.entries(command).filter(([key]) => !envelope.has(key)));
  // A change stream follows the oplog; the server takes only one statement to explain at a time.
  if (BSON.EJSON.stringify(query).includes('"$changeStream"')) return [];
  for (const list of ['updates', 'deletes']) {
    const sent: unknown = query[list];
    if (sent !== undefined) return listOf(sent).map((statement) => ({ ...query, [list]: [statement] }));
  }
  return [query];
}

/** The driver sends some lists as a part of the message of their own. */
function listOf(sent: unknown): Document[] {
  return Array.isArray(sent) ? (sent as Document[]) : (sent as { readonly documents: Document[] }).documents;
}

/** What stands under this key, at whatever depth. */
function valuesAt(answer: unknown, wanted: string): unknown[] {
  if (typeof answer !== 'object' || answer === null) return [];
  return Object.entries(answer).flatMap(([key, value]) => (key === wanted ? [value] : valuesAt(value, wanted)));
}

function stagesOf(plan: unknown): string[] {
  return valuesAt(plan, 'stage').map(String);
}

function sum(values: readonly unknown[]): number {
  return values.reduce<number>((total, value) => total + Number(value), 0);
}

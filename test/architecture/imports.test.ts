// The import table of ARCHITECTURE.md holds: for every file of src/, types and dynamic imports included.

import { describe, expect, it } from '@jest/globals';
import { posix } from 'node:path';

import { problemWith, readImportTable } from './import-table.ts';
import { parseSource, readDashboard, readSources } from './sources.ts';

const rules = readImportTable();
const sources = readSources();

const problemsOf = (path: string, text: string) => {
  const file = parseSource(path, text);
  return file.imports.map((imported) => problemWith(file, imported, rules)).filter((problem) => problem !== null);
};

describe('the import table', () => {
  it('is kept by every file', () => {
    const problems = sources.flatMap((file) => file.imports.map((imported) => problemWith(file, imported, rules)));
    expect(problems.filter((problem) => problem !== null)).toEqual([]);
  });

  it('has a row for every folder, and no row for a folder that is gone', () => {
    const paths = sources.map((file) => file.path);
    const anyFile = { specifier: './x.ts', typeOnly: true };
    expect(paths.filter((path) => problemWith({ path }, anyFile, rules) !== null)).toEqual([]);
    const folders = rules.map((rule) => rule.folder);
    expect(folders.filter((folder) => !paths.some((path) => path.startsWith(`${folder}/`)))).toEqual([]);
  });
});

describe('the dashboard', () => {
  const files = readDashboard();

  it('is a client of the API alone: of this repository it imports its own files and the types of the wire', () => {
    const strangers = files.flatMap(({ path, imports }) =>
      imports
        .filter(({ specifier, typeOnly }) => {
          if (!specifier.startsWith('.'))
            return !['preact', 'preact/hooks', '@preact/signals', 'uplot'].includes(specifier);
          const target = posix.join(posix.dirname(`dashboard/${path}`), specifier);
          return !target.startsWith('dashboard/') && !(typeOnly && target === 'clients/typescript/src/openapi.ts');
        })
        .map(({ specifier }) => `${path}: ${specifier}`),
    );
    expect(files.length).toBeGreaterThan(20);
    expect(strangers).toEqual([]);
  });

  it('has files that say what they are for, without the type any', () => {
    expect(files.filter(({ text }) => !/^\/\/ \S/.test(text)).map(({ path }) => path)).toEqual([]);
    expect(files.filter(({ anyLines }) => anyLines.length > 0).map(({ path }) => path)).toEqual([]);
  });
});

/** All folders that a folder may reach, by however many others. */
function reachOf(folder: string): ReadonlySet<string> {
  const reached = new Set([folder]);
  for (const name of reached) {
    const { folders = [] } = rules.find((rule) => rule.folder === name) ?? {};
    for (const next of folders === 'everything' ? rules.map((rule) => rule.folder) : folders) reached.add(next);
  }
  return reached;
}

describe('what shows the past', () => {
  it.each(['lookback', 'export', 'replay'])('%s reaches nothing that can send', (folder) => {
    const senders = ['channels', 'dispatchers', 'scheduler', 'jobs', 'adapters/http', 'main'];
    expect(senders.filter((name) => reachOf(folder).has(name))).toEqual([]);
    expect(reachOf(folder).has('ports')).toBe(true);
  });

  it('is put together without it', () => {
    const parts = ['main/serve-as-of.ts', 'main/look-back.ts', 'main/beside.ts', 'main/stats.ts', 'main/compare.ts'];
    const own = sources.filter(({ path }) => parts.includes(path));
    expect(own).toHaveLength(parts.length);
    const imported = own.flatMap(({ imports }) => imports.map(({ specifier }) => specifier));
    expect(
      imported.filter((name) => /^\.\.\/(?:channels|dispatchers|scheduler|jobs|adapters\/http)\//.test(name)),
    ).toEqual([]);
  });
});

describe('the check of the import table', () => {
  it.each([
    ['domain/x.ts', "import type { Clock } from '../ports/clock.ts';"],
    ['domain/x.ts', "import { readFileSync } from 'node:fs';"],
    ['ports/x.ts', "import { connect } from 'node:net';"],
    ['commands/x.ts', "import { z } from 'zod';"],
    ['commands/x.ts', "import type { Page } from '../projections/read-model.ts';"],
    ['commands/x.ts', "export { fold } from '../projections/inbox/fold.ts';"],
    ['dispatchers/x.ts', "const { twilio } = await import('../channels/sms/twilio.ts');"],
    ['dispatchers/x.ts', "let outcome: import('../channels/http-outcome.ts').Outcome;"],
    ['dispatchers/x.ts', "new Worker(new URL('../scheduler/worker.ts', import.meta.url));"],
    ['adapters/sqlite/x.ts', "import { createMemoryLimiter } from '../memory/rate-limiter.ts';"],
    ['adapters/memory/x.ts', "import type { Row } from '../sqlite/rows.ts';"],
    ['api/handlers/x.ts', "import { createLog } from '../../adapters/sqlite/event-log.ts';"],
    ['adapters/memory/x.ts', "import { DatabaseSync } from 'node:sqlite';"],
    ['adapters/unheard-of/x.ts', "import { connect } from 'node:net';"],
    ['channels/email/x.ts', "import { notify } from '../../commands/notify.ts';"],
    ['channels/email/x.ts', "import { connect } from 'node:net';"],
    ['somewhere/x.ts', "import { assertNever } from '../domain/assert-never.ts';"],
  ])('refuses in %s: %s', (path, text) => {
    expect(problemsOf(path, text)).toHaveLength(1);
  });

  it.each([
    ['domain/x.ts', "import { assertNever } from './assert-never.ts';"],
    ['ports/x.ts', "import type { Socket } from 'node:net';"],
    ['projections/inbox/x.ts', "import { readModel } from '../read-model.ts';"],
    ['scheduler/x.ts', "import { timers } from '../projections/timers/index.ts';"],
    ['adapters/sqlite/read-models/x.ts', "import { open } from '../open.ts';"],
    ['adapters/sqlite/x.ts', "import type { Codec } from '../../codec/index.ts';"],
    ['channels/email/x.ts', "import type { Socket } from 'node:net';"],
    ['main/x.ts', "import { anything } from '../adapters/sqlite/event-log.ts';"],
  ])('allows in %s: %s', (path, text) => {
    expect(problemsOf(path, text)).toEqual([]);
  });

  it('refuses an import whose name is computed', () => {
    expect(() => parseSource('channels/x.ts', 'await import(name);')).toThrow("doesn't say what it imports");
  });
});

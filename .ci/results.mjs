// What the test runs of .ci/run came to: counts their tests, names what has to be run again, and says at last "N passed, N failed".
//
//   results.mjs again FOLDER NAME   the files of that run that failed, a line each; nothing when there is no report, or too many for chance
//   results.mjs total FOLDER        FOLDER holds NAME.status, NAME.journal, NAME.json and, where files were run again, the same of NAME-again;
//                                   and in the file seconds a line of each step: its name, and how long it took

import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

import { isNoTimeLeft } from './no-time-left.mjs';

/** Of each run so many of its slowest files are named (test/support/file-seconds.json). */
const slowestMax = 15;
/** More files than this don't fail by chance: what broke them is shown at once, and not waited for twice. */
const againMax = 8;

const [command, folder, name] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${line}\n`);
if (command === 'again') again(name).forEach(say);
else process.exitCode = total() ? 0 : 1;

function again(name) {
  const report = reportOf(name);
  const files = (report?.testResults ?? []).filter(({ status }) => status === 'failed').map(({ name: file }) => file);
  return files.length > againMax ? [] : files;
}

function total() {
  const hasFailed = (name) => readFileSync(join(folder, `${name}.status`), 'utf8').trim() !== '0';
  const ranLast = (name) => (existsSync(join(folder, `${name}-again.status`)) ? `${name}-again` : name);
  let passed = 0;
  let failed = ['check', 'first-start'].filter(hasFailed).length;
  for (const name of ['embedded', 'threads', 'tools', 'browser', 'engines', 'engine-threads']) {
    const own = countOf(name);
    const notRepeated = notRepeatedOf(name);
    if (own.failed === 0 && notRepeated.length === 0 && hasFailed(ranLast(name))) own.failed = 1;
    say(`${name}, its slowest files: ${JSON.stringify(secondsOf(name))}`);
    for (const file of [name, `${name}-again`].flatMap(unendedOf)) say(`NOT ENDED ${name}: ${file}`);
    for (const file of notRepeated) say(`NOT REPEATED ${name}: no time was left on this machine for: ${file}`);
    for (const test of own.unsteady) say(`UNSTEADY ${name}: failed, then passed by itself: ${test}`);
    say(`${name}: ${own.passed} passed, ${own.failed} failed, ${own.unsteady.length} of those passed unsteady`);
    passed += own.passed;
    failed += own.failed;
  }
  say(`seconds: ${read('seconds', (text) => text.trim().split('\n').join(', '), 'not known')}`);
  say(`${passed} passed, ${failed} failed`);
  return failed === 0;
}

/**
 * Jest's own figures; a file that could not be run counts as one failed, and so does a test that was skipped. Of a run that was ended from outside, and so
 * left no report, what had ended by then counts, and each file that had not as one failed.
 */
function countOf(name) {
  const first = reportOf(name);
  if (first === null) return { ...endedOf(name), unsteady: [] };
  const second = reportOf(`${name}-again`);
  const was = figuresOf(first);
  if (second === null) return { ...was, unsteady: [] };
  const now = figuresOf(second);
  const files = new Set(second.testResults.map(({ name: file }) => file));
  const before = figuresOf({ testResults: first.testResults.filter(({ name: file }) => files.has(file)) });
  const unsteady = before.failedNames.filter((test) => !now.failedNames.includes(test));
  return { passed: was.passed - before.passed + now.passed, failed: was.failed - before.failed + now.failed, unsteady };
}

function figuresOf({ testResults }) {
  const figures = { passed: 0, failed: 0, failedNames: [] };
  for (const { name: file, status, assertionResults } of testResults) {
    const failures = assertionResults.filter(({ status: of }) => of !== 'passed');
    figures.passed += assertionResults.length - failures.length;
    figures.failed += failures.length;
    figures.failedNames.push(...failures.map(({ fullName }) => `${file}: ${fullName}`));
    if (status !== 'failed' || failures.length > 0) continue;
    figures.failed += 1;
    figures.failedNames.push(`${file}: the file itself`);
  }
  return figures;
}

/** By file, the slowest first. */
function secondsOf(name) {
  const took = (reportOf(name)?.testResults ?? []).map(({ name: file, startTime, endTime }) => [
    relative('', file),
    Math.round((endTime - startTime) / 1000),
  ]);
  return Object.fromEntries(took.sort(([, a], [, b]) => b - a).slice(0, slowestMax));
}

function endedOf(name) {
  const ended = journalOf(name).filter(({ began }) => began !== true);
  const sum = (of) => ended.reduce((all, line) => all + line[of], 0);
  return { passed: sum('passed'), failed: Math.max(1, sum('failed') + unendedOf(name).length) };
}

/** The files that had begun when the run was ended. */
function unendedOf(name) {
  const lines = journalOf(name);
  const ended = new Set(lines.filter(({ began }) => began !== true).map(({ file }) => file));
  return lines.filter(({ began, file }) => began === true && !ended.has(file)).map(({ file }) => file);
}

/** Without the files that there was no time for. */
function reportOf(name) {
  const whole = wholeReportOf(name);
  return whole && { testResults: whole.testResults.filter(({ message }) => !isNoTimeLeft(message)) };
}

function notRepeatedOf(name) {
  const files = wholeReportOf(name)?.testResults ?? [];
  return files.filter(({ message }) => isNoTimeLeft(message)).map(({ name: file }) => relative('', file));
}

function wholeReportOf(name) {
  return read(`${name}.json`, JSON.parse, null);
}

/** What journal.mjs wrote; the last line may be cut. */
function journalOf(name) {
  const whole = (text) => text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return read(
    `${name}.journal`,
    (text) =>
      whole(text)
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    [],
  );
}

function read(file, parse, otherwise) {
  try {
    return parse(readFileSync(join(folder, file), 'utf8'));
  } catch {
    return otherwise;
  }
}

// What the test runs of .ci/run came to: counts their tests, names what has to be run again, and says at last "N passed, N failed".
//
//   results.mjs again REPORT     the files of it that failed, a line each; nothing when there is no report, or too many for chance
//   results.mjs total FOLDER     FOLDER holds NAME.status, NAME.json and, where files were run again, NAME-again.json

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** More files than this don't fail by chance: what broke them is shown at once, and not waited for twice. */
const againMax = 5;

const [command, path] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${line}\n`);
if (command === 'again') again(path).forEach(say);
else process.exitCode = total(path) ? 0 : 1;

function again(report) {
  const read = reportIn(report);
  const files =
    read === null ? [] : read.testResults.filter(({ status }) => status === 'failed').map(({ name }) => name);
  return files.length > againMax ? [] : files;
}

function total(folder) {
  const hasFailed = (name) => readFileSync(join(folder, `${name}.status`), 'utf8').trim() !== '0';
  const ranLast = (name) => (existsSync(join(folder, `${name}-again.status`)) ? `${name}-again` : name);
  let passed = 0;
  let failed = ['check', 'first-start'].filter(hasFailed).length;
  for (const name of ['embedded', 'tools', 'engines']) {
    const own = countOf(name, folder);
    if (own.failed === 0 && hasFailed(ranLast(name))) own.failed = 1;
    for (const test of own.unsteady) say(`UNSTEADY ${name}: failed, then passed by itself: ${test}`);
    say(`${name}: ${own.passed} passed, ${own.failed} failed, ${own.unsteady.length} of those passed unsteady`);
    passed += own.passed;
    failed += own.failed;
  }
  say(`${passed} passed, ${failed} failed`);
  return failed === 0;
}

/** Jest's own figures; a file that could not be run counts as one failed, and so does a test that was skipped and a report that was never written. */
function countOf(name, folder) {
  const first = reportIn(join(folder, `${name}.json`));
  if (first === null) return { passed: 0, failed: 1, unsteady: [] };
  const second = reportIn(join(folder, `${name}-again.json`));
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

function reportIn(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

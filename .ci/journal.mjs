// A Jest reporter that writes down, as it happens, which files have begun and what each came to: a run that is ended from outside leaves no report. And what
// ends a file that hangs: its worker is killed, which Jest counts as that file failed, and all others go on.
//
// CI_JOURNAL names the file of lines that it writes; beside it, NAME.workers is a folder where note-worker.mjs says which process runs which file.

import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

import { isNoTimeLeft } from './no-time-left.mjs';

/** Well over what the slowest file takes on two busy cores. */
const fileMaxMs = 15 * 60_000;
const lookEveryMs = 5_000;

export default class Journal {
  #path = process.env.CI_JOURNAL;
  #runningSince = new Map();
  #looking = null;

  onRunStart() {
    this.#looking = setInterval(() => this.#endHanging(), lookEveryMs).unref();
  }

  onTestFileStart({ path }) {
    this.#runningSince.set(path, performance.now());
    this.#write({ file: path, began: true });
  }

  onTestFileResult({ path }, { numPassingTests, numFailingTests, testExecError }) {
    const couldNotRun = testExecError != null && !isNoTimeLeft(testExecError.message);
    this.#ended(path, numPassingTests, numFailingTests + (couldNotRun ? 1 : 0));
  }

  onRunComplete() {
    clearInterval(this.#looking);
  }

  #ended(file, passed, failed) {
    this.#runningSince.delete(file);
    this.#write({ file, passed, failed });
  }

  #write(line) {
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
  }

  #endHanging() {
    for (const [file, since] of this.#runningSince) {
      if (performance.now() - since < fileMaxMs) continue;
      this.#runningSince.delete(file);
      process.stderr.write(`HANGS: ${relative('', file)} has run for ${fileMaxMs / 60_000} minutes and is ended\n`);
      for (const pid of workersOf(file)) killWithServices(pid);
    }
  }
}

/** The processes that last said that they run the file. */
function workersOf(file) {
  const folder = `${process.env.CI_JOURNAL}.workers`;
  return readdirSync(folder)
    .filter((pid) => readFileSync(join(folder, pid), 'utf8') === file)
    .map(Number)
    .filter((pid) => pid !== process.pid);
}

/** Its services would go on without it; engines of its own end by themselves (test/support/engine-control.ts). */
function killWithServices(worker) {
  const processes = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [])
    .map(([, pid, parent, args = '']) => ({ pid: Number(pid), parent: Number(parent), args }));
  const services = processes.filter(({ parent, args }) => parent === worker && args.includes('bin/herald.js'));
  for (const pid of [worker, ...services.map((service) => service.pid)]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  }
}

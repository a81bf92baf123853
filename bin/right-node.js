// The Node that Herald needs: the one that runs this when it is new enough, else the one that npm ci has brought along.
// In JavaScript that every Node can read.

import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';

const majorMin = 24;
/** Whoever stops this process means what it runs: npm, a shell and a supervisor signal the process that they have started. */
const passedOn = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

export function isNewEnough(version) {
  return Number(version.split('.')[0]) >= majorMin;
}

/**
 * The Node to run, as a path; null: there is none for this machine.
 * npm links a package's `node` into node_modules/.bin only in some of its versions (10.8 to 11.3 link none of several that declare the same name), so
 * the package's own folder is looked into.
 * @param of version, platform, arch and execPath as of `process.versions.node` and `process`; resolve: finds a file of a package, throws when there is none
 */
export function nodeFor({ version, platform, arch, execPath, resolve }) {
  if (isNewEnough(version)) return execPath;
  const name = `node-${platform === 'win32' ? 'win' : platform}-${arch}`;
  try {
    return resolve(`${name}/bin/${platform === 'win32' ? 'node.exe' : 'node'}`);
  } catch {
    return null;
  }
}

/** Runs it to its end with this process' streams and ends as it does; says what to do when there is no Node for it. */
export function runNode(args) {
  const { version, platform, arch, execPath } = process;
  const { resolve } = createRequire(import.meta.url);
  const node = nodeFor({ version: process.versions.node, platform, arch, execPath, resolve });
  if (node === null) {
    console.error(
      `Herald needs Node ${majorMin} or newer, this is ${version}. ` +
        `npm ci brings it along on Linux and Windows (x64, and arm64 on Linux), unless optional packages are left out; ` +
        `here there is none: run npm ci, or install Node ${majorMin}.`,
    );
    process.exit(1);
  }
  const child = spawn(node, args, { stdio: 'inherit' });
  const passOn = (signal) => child.kill(signal);
  for (const signal of passedOn) process.on(signal, passOn);
  child.on('error', (error) => {
    console.error(`${node} can not be run: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    for (const name of passedOn) process.off(name, passOn);
    if (signal === null) process.exit(code);
    process.kill(process.pid, signal);
  });
}

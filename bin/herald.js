#!/usr/bin/env node
// The entry: checks the Node version, in JavaScript that every Node can read, and hands over to src/main/cli.ts.

const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  console.error(
    `Herald needs Node 24 or newer, this is ${process.version}. ` +
      'Start it through npm ("npm start", "npm run -s herald -- ..."): on Linux and Windows npm ci has brought the right Node along; on macOS install Node 24.',
  );
  process.exit(1);
}
// What was stripped and compiled once is kept in the folder for temporary files: later starts take half the time and 40 MiB less.
const { enableCompileCache } = await import('node:module');
const { directory } = enableCompileCache();
// Worker threads look for it in their environment.
if (directory !== undefined) process.env.NODE_COMPILE_CACHE = directory;
await import('../src/main/cli.ts');

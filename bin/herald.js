#!/usr/bin/env node
// The entry: goes on under a Node that is new enough, in JavaScript that every Node can read, and hands over to src/main/cli.ts.

import { fileURLToPath } from 'node:url';

import { keepSignals } from './early-signals.js';
import { givesMemoryBack } from './memory-allocator.js';
import { isNewEnough, runNode } from './right-node.js';

/** What takes and frees large buffers as long as it runs. */
const manyBuffers = ['serve', 'export'];
const args = [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)];

if (!isNewEnough(process.versions.node)) runNode(args);
else {
  const wasTold = process.pid === 1 && process.argv[2] === 'serve' ? keepSignals(process) : async () => false;
  const env = manyBuffers.includes(process.argv[2]) ? givesMemoryBack(process) : null;
  // The same process goes on as what it starts: whoever signals or watches it notices nothing. What it was told it would have forgotten.
  if (env !== null && !(await wasTold())) process.execve(process.execPath, [process.execPath, ...args], env);
  // What was stripped and compiled once is kept in the folder for temporary files: later starts take half the time and 40 MiB less.
  const { enableCompileCache } = await import('node:module');
  const { directory } = enableCompileCache();
  // Worker threads look for it in their environment.
  if (directory !== undefined) process.env.NODE_COMPILE_CACHE = directory;
  await import('../src/main/cli.ts');
}

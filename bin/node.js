#!/usr/bin/env node
// Runs Node with the arguments that it is given, on the Node that Herald needs: `node bin/node.js --some-flag script.js argument`.

import { runNode } from './right-node.js';

runNode(process.argv.slice(2));

#!/usr/bin/env node
// Builds the pages for browsers ahead, for an installation without their sources (the Dockerfile). `npm start` needs no such step: it builds what is missing.

import { createLogger } from '../src/adapters/node/logger.ts';
import { loadWeb } from '../src/main/web/load.ts';

const assets = await loadWeb(createLogger({ level: 'warn' }), null);
for (const { path, plain, br } of assets)
  console.log(`${path}: ${plain.length} B, ${br?.length ?? plain.length} B compressed`);

// The rate limiter in memory: the contract.

import { createMemoryRateLimiter } from '../../../src/adapters/memory/rate-limiter.ts';
import { rateLimiterContract } from '../../contracts/rate-limiter.ts';

rateLimiterContract('memory', async () => createMemoryRateLimiter());

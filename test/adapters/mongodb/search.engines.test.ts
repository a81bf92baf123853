// Searching on MongoDB: the suite of every store, on a real server.

import { searchContract } from '../../contracts/search.ts';
import { openStore } from './cheap-queries.ts';

searchContract('MongoDB', async () => {
  const { store } = openStore();
  return { store, close: () => store.close() };
});

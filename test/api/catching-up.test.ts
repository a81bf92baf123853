// Queries of a read model that is folded from the log's beginning, beside those of one that is whole.

import { afterEach, expect, it } from '@jest/globals';

import type { CatchingUp } from '../../src/projections/catching-up.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';

let app: App;

afterEach(() => app.close());

it('only what needs it is refused, with how far it is; asked once a second at most', async () => {
  let asked = 0;
  const progress: CatchingUp = { done: 4_554, total: 94_002 };
  const search = { begin: async () => {}, progress: async () => (asked++, progress) };
  app = await startApp({ delivers: false, replace: () => ({ catchUps: new Map([['search_2', search]]) }) });
  const tenant = await app.tenant('ada');
  const list = (query: string) => tenant.dashboard('GET', `/notifications${query}`);
  expect((await list('')).status).toBe(200);
  expect(asked).toBe(0);
  const refused = await list('?q=hello');
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(refused.body).toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    error: expect.stringContaining("search_2 is folded from the log's beginning: 4,554 of 94,002 events"),
  });
  await list('?q=hello');
  expect(asked).toBe(1);
});

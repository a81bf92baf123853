// Every GET of the document has its word in a look-back, and is asked for by the test that holds a look-back to what was answered then.

import { expect, it } from '@jest/globals';

import { startApp } from '../support/app.ts';
import { askedAsNow, askedAsThen, getsOf, isOf, toldOtherwise } from '../support/look-back-routes.ts';

it('every GET is asked for as of a moment, or what a look-back says to it instead is written down', async () => {
  const app = await startApp({ delivers: false });
  const gets = getsOf((await app.call('GET', '/openapi.json', {})).body);
  await app.close();
  const known = { ids: ['notif_a'], batches: ['batch_a'], people: ['ada'], jobs: ['job_a'], templates: ['tpl_a'] };
  const asThen = askedAsThen(known).map(({ path }) => path);
  expect(gets.filter((get) => !(get in toldOtherwise) && !asThen.some((path) => isOf(get, path)))).toEqual([]);
  expect(Object.keys(toldOtherwise).filter((get) => !gets.includes(get))).toEqual([]);
  const asNow = askedAsNow(known).map(({ path }) => path);
  const shownAsNow = Object.entries(toldOtherwise).flatMap(([get, { told }]) => (told === 'as now' ? [get] : []));
  expect(shownAsNow.filter((get) => !asNow.some((path) => isOf(get, path)))).toEqual([]);
});

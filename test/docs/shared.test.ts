// OPERATIONS.md, "What tenants share": every route is in it, and the tests that it names are there.

import { expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { documentation } from '../../src/api/docs/index.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const [, section = ''] = /^## What tenants share$(.*?)^## /ms.exec(readFileSync(`${root}OPERATIONS.md`, 'utf8')) ?? [];

it('every route stands in one row of its own', () => {
  const named = [...section.matchAll(/`((?:GET|POST|PUT|DELETE) \/[^`]*)`/g)].map(([, route = '']) => route);
  expect(named.toSorted()).toEqual([...Object.keys(documentation), 'POST /notify'].toSorted());
});

it('each row names a test that is there', () => {
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| calls') && !line.startsWith('| shared'));
  expect(rows.length).toBeGreaterThan(15);
  for (const row of rows) {
    const [, test = ''] = /`(test\/[^`]+\.ts)` \|$/.exec(row) ?? [];
    expect([row.slice(0, 40), test !== '' && existsSync(root + test)]).toEqual([row.slice(0, 40), true]);
  }
});

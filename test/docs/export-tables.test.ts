// docs/export-tables.md says of each table of an export what its code says.

import { readFileSync } from 'node:fs';

import { expect, it } from '@jest/globals';

import { tableNames } from '../../src/export/columns.ts';
import { tables } from '../../src/export/tables/index.ts';

const text = readFileSync(new URL('../../docs/export-tables.md', import.meta.url), 'utf8');

it('the documented tables and columns of an export are those that it writes, in their order', () => {
  const sections = tableNames.map((name) => {
    const { about, columns } = tables[name];
    const rows = columns.map((column) => `| \`${column.name}\` | ${column.kind} | ${column.about} |`);
    return [`## ${name}`, '', about, '', '| column | kind | is |', '|---|---|---|', ...rows, ''].join('\n');
  });
  expect(text.slice(text.indexOf('## events'))).toBe(sections.join('\n'));
});

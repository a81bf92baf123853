// GET /notifications.csv: the list as a spreadsheet opens it.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Input } from '../../src/api/endpoint.ts';
import { createNotificationCsvHandlers } from '../../src/api/handlers/notification-csv.ts';
import { csvColumns } from '../../src/api/notification-csv.ts';
import type { Tenant } from '../../src/domain/tenant.ts';
import type { Document, Page, Query, ReadModelReader } from '../../src/ports/read-model-store.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { until } from '../support/until.ts';

type Owner = Awaited<ReturnType<App['tenant']>>;

let app: App;
let tenant: Owner;
const count = 230;
const subjects = ['=HYPERLINK("http://evil.test","x")', '+1', '-2', '@SUM(A1)', 'plain, with "quotes"', ''];

beforeAll(async () => {
  app = await startApp();
  tenant = await app.tenant('spreadsheets');
  await accepted(
    tenant,
    Array.from({ length: count }, (_, i) => ({
      channel: 'IN_APP',
      recipient: i % 2 === 0 ? 'ada' : 'bob',
      subject: (subjects[i % subjects.length] ?? '') || undefined,
      body: 'a body',
      metadata: { order: String(i) },
    })),
  );
  const total = async () => (await tenant.dashboard('GET', '/notifications?status=DELIVERED')).body.pagination?.total;
  await until(async () => (await total()) === count, { what: 'all delivered' });
});
afterAll(() => app.close());

async function accepted(of: Owner, notifications: readonly unknown[]): Promise<void> {
  const { body } = await of.withKey('POST', '/notify/batch', { notifications });
  if (body.accepted !== notifications.length) throw new Error(`answered ${JSON.stringify(body)}`);
}

const csv = (query = '') => tenant.dashboard('GET', `/notifications.csv${query}`);

/** RFC 4180, by its grammar. */
function rowsOf(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain = '', end = ''] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    if (end === '' && plain === '' && quoted === undefined && row.length === 0) break;
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

async function records(query = ''): Promise<readonly Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  for (let cursor = ''; ;) {
    const { body } = await tenant.dashboard('GET', `/notifications?limit=100${query}${cursor}`);
    found.push(...body.data);
    if (body.pagination.nextCursor === null) return found;
    cursor = `&cursor=${body.pagination.nextCursor}`;
  }
}

describe('the list as CSV', () => {
  it('has every notification that the list has, in its order, field by field', async () => {
    const { status, headers, body } = await csv();
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    expect(headers.get('content-disposition')).toContain('attachment');
    const [head = [], ...rows] = rowsOf(body);
    expect(head).toEqual(csvColumns.map(({ name }) => name));
    const expected = await records();
    expect(rows).toHaveLength(count);
    for (const [i, row] of rows.entries()) {
      const cell = (name: string) => row[head.indexOf(name)];
      const { id, createdAt, deliveredAt, status: stands, metadata, attemptCount } = expected[i] ?? {};
      expect([cell('id'), cell('createdAt'), cell('deliveredAt'), cell('status'), cell('metadata')]).toEqual([
        id,
        createdAt,
        deliveredAt,
        stands,
        JSON.stringify(metadata),
      ]);
      expect([cell('attemptCount'), cell('failedAt')]).toEqual([String(attemptCount), '']);
    }
  });

  it('holds no text that a spreadsheet takes for a formula, and loses nothing of others', async () => {
    const [head = [], ...rows] = rowsOf((await csv()).body);
    const shown = new Set(rows.map((row) => String(row[head.indexOf('subject')])));
    expect([...shown].toSorted()).toEqual(
      subjects.map((subject) => (/^[=+\-@]/.test(subject) ? `'${subject}` : subject)).toSorted(),
    );
    for (const cell of rows.flat()) expect(cell).not.toMatch(/^[=+\-@\t\r\n]/);
  });

  it('takes the filters of the list', async () => {
    for (const query of [
      'recipient=ada',
      'metadata.order=7',
      'status=FAILED',
      'channel=IN_APP&to=2020-01-01T00:00:00Z',
    ]) {
      const [head = [], ...rows] = rowsOf((await csv(`?${query}`)).body);
      const expected = await records(`&${query}`);
      expect(rows.map((row) => row[head.indexOf('id')])).toEqual(expected.map(({ id }) => id));
    }
    for (const [query, path] of [
      ['limit=3', 'limit'],
      ['nonsense=1', 'nonsense'],
      ['status=LOST', 'status'],
    ]) {
      const { status, body } = await csv(`?${query}`);
      expect([status, body.details[0].path]).toEqual([400, path]);
    }
  });

  it('begins after 2 s, with its head alone where no row was found by then, and goes on', async () => {
    const { reader, clock, turns } = app.deps;
    let now = 0;
    let looks = 0;
    const slow: ReadModelReader = {
      ...reader,
      async find<D extends Document>(query: Query): Promise<Page<D>> {
        now += 700;
        return ++looks > 7 ? reader.find<D>(query) : { documents: [], next: query.after ?? [Infinity, ''] };
      },
    };
    const { csv: made } = createNotificationCsvHandlers({
      reader: slow,
      turns,
      clock: { ...clock, monotonic: () => now },
    });
    const caller = { tenant: { id: tenant.id } as Tenant };
    const answer = await made.handle(caller, { query: {} } as Input);
    if (!('download' in answer)) throw new Error('no download');
    const pieces: { readonly after: number; readonly rows: number }[] = [];
    for await (const piece of answer.download.pieces(() => false))
      pieces.push({ after: now, rows: rowsOf(piece).length });
    expect(pieces[0]).toEqual({ after: 2_100, rows: 1 });
    expect(pieces.reduce((sum, { rows }) => sum + rows, 0)).toBe(count + 1);
  });

  it('is cut where it is not whole', async () => {
    const own = await startApp({ delivers: false, options: { downloads: { timeMaxMs: 0 } } });
    const hurried = await own.tenant('hurried');
    const item = { channel: 'IN_APP', recipient: 'ada', subject: 'x'.repeat(900), body: 'x' };
    await accepted(
      hurried,
      Array.from({ length: 250 }, () => item),
    );
    const answered = await hurried.dashboard('GET', '/notifications.csv').catch((error: unknown) => error);
    // Either it had not begun, which is an answer, or it breaks off.
    expect(answered instanceof Error ? 'cut' : (answered as { status: number }).status).not.toBe(200);
    await own.close();
  });
});

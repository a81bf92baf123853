// Exports of a log that grows: every event once, whatever happens on the way.

import { existsSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { DomainEvent } from '../../src/domain/events.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { type Topic, topicOf } from '../../src/domain/topics.ts';
import { beginning, eventsSource, usualPieceRows } from '../../src/export/source.ts';
import type { Engines } from '../projections/engines.ts';
import { appendAll, openEngines } from '../projections/engines.ts';
import { anyEvent } from '../support/events.ts';
import fc from '../support/properties.ts';
import type { Exported, Exporting } from './exporting.ts';
import { everything, linesOf, startExporting } from './exporting.ts';

let engines: Engines;
let exporting: Exporting;

beforeEach(async () => {
  engines = await openEngines();
  exporting = await startExporting(engines.log);
});

afterEach(async () => {
  await exporting.remove();
  await engines.close();
});

/** Events of every type, with ids of their own. */
function someEvents(count: number, seed: number): DomainEvent[] {
  const events = fc.sample(anyEvent, { numRuns: count, seed });
  return events.map((event, i) => ({ ...event, eventId: `${seed}-${i}` }) as DomainEvent);
}

/** Those of one tenant: of an erased one nothing is exported. */
const withoutErasures = (events: readonly DomainEvent[]) => events.filter(({ type }) => type !== 'TenantErased');

const idsOf = (rows: readonly { readonly eventId?: unknown }[]) => rows.map(({ eventId }) => String(eventId)).sort();

/** What the exported row says, put together as the event that it was. */
function eventOf(row: Exported): unknown {
  const { topic: _, offset: __, appendedAt: ___, undecodable: ____, payload, ...envelope } = row;
  const { partition, round, recipient, channel, priority, notificationId, requestedAt, ...rest } = envelope;
  const ofNotification = { partition, round, recipient, channel, priority, notificationId, requestedAt };
  const known = Object.entries({ ...rest, ...ofNotification }).filter(
    ([name, value]) => value !== null || name === 'traceparent',
  );
  const times = known.map(([name, value]) => [name, name.endsWith('At') ? Date.parse(String(value)) : value]);
  return { ...Object.fromEntries(times), ...(payload as object) };
}

describe('an export of events', () => {
  it('holds every event as it was, at its position', async () => {
    const events = someEvents(300, 1);
    const positions = await appendAll(engines.log, events);
    const manifest = await exporting.export('all');
    const rows = exporting.rows('all');
    const placeOf = (of: Exported) => [of['topic'], of['partition'], of['offset']].join(' ');
    const rowAt = new Map(rows.map((row) => [placeOf(row), row]));
    expect(rows).toHaveLength(events.length);
    expect(manifest.rows).toBe(events.length);
    for (const [i, position] of positions.entries())
      expect(eventOf(rowAt.get(placeOf({ ...position })) ?? {})).toEqual(events[i]);
  });

  it('says of each partition from which offset to which, and of each file its rows and SHA-256', async () => {
    const events = someEvents(50, 2);
    await appendAll(engines.log, events);
    const { ranges, files } = await exporting.export('all');
    expect(ranges.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(events.length);
    expect(ranges.every(({ from, to, events }) => events === to - from)).toBe(true);
    expect(files).toMatchObject([
      { path: 'events-00001.ndjson', rows: events.length, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ]);
    expect(await exporting.verify('all')).toEqual([]);
  });

  it('goes on where the last one ended: seven nights hold every event once', async () => {
    const all: DomainEvent[] = [];
    for (let night = 0; night < 7; night++) {
      const events = someEvents(40, 10 + night);
      all.push(...events);
      await appendAll(engines.log, events);
      if (night === 0) await exporting.export('night-0');
      else await exporting.exportSince(`night-${night}`, `night-${night - 1}`);
    }
    const nights = Array.from({ length: 7 }, (_, night) => exporting.rows(`night-${night}`));
    expect(idsOf(nights.flat())).toEqual(idsOf(all));
    expect(nights.map((rows) => rows.length)).toEqual(Array.from({ length: 7 }, () => 40));
  });

  it('that was cut off anywhere goes on by itself, to the same files byte for byte', async () => {
    await appendAll(engines.log, someEvents(400, 3));
    const whole = await exporting.export('whole', { roundRows: 30 });
    let cuts = 0;
    for (let isCut = true; isCut; cuts++) {
      // Each run gets through some more pieces than the one before.
      let pieces = 0;
      const onProgress = () => {
        if (++pieces > 7 + cuts) throw new Error('cut off');
      };
      isCut = await exporting.export('cut', { roundRows: 30, onProgress }).then(
        () => false,
        () => true,
      );
    }
    const cut = await exporting.export('again', { roundRows: 30 });
    expect(cuts).toBeGreaterThan(3);
    expect(cut.files).toEqual(whole.files);
    const { files, ranges } = JSON.parse(
      await readFile(exporting.path('cut', 'manifest.json'), 'utf8'),
    ) as typeof whole;
    expect({ files, ranges }).toEqual({ files: whole.files, ranges: whole.ranges });
    expect((await readdir(exporting.path('cut'))).sort()).toEqual((await readdir(exporting.path('whole'))).sort());
  });

  it('leaves nothing in the folder that the manifest does not name', async () => {
    await appendAll(engines.log, someEvents(60, 4));
    const failing = { roundRows: 20, onProgress: (read: number) => failAt(read, 40) };
    await expect(exporting.export('out', failing)).rejects.toThrow('cut off');
    await writeFile(exporting.path('out', 'events-00009.ndjson.tmp'), 'of a round that never ended');
    const { files } = await exporting.export('out', { roundRows: 20 });
    expect((await readdir(exporting.path('out'))).sort()).toEqual(
      [...files.map(({ path }) => path), 'manifest.json'].sort(),
    );
  });

  it('of one tenant reads its partition numbers alone and holds nothing of others', async () => {
    const events = ['tnt_a', 'tnt_b'].flatMap((tenantId) =>
      withoutErasures(someEvents(200, 5)).map(
        (event) => ({ ...event, tenantId, eventId: `${tenantId} ${event.eventId}` }) as DomainEvent,
      ),
    );
    await appendAll(engines.log, events);
    const { ranges } = await exporting.export('a', { filter: { ...everything, tenant: 'tnt_a' as TenantId } });
    const numbers = new Set(ranges.map(({ partition }) => partition));
    const wanted = events.filter(({ tenantId, partition }) => tenantId === 'tnt_a' && numbers.has(partition));
    expect(numbers.size).toBeLessThanOrEqual(2);
    expect(wanted.length).toBeGreaterThan(0);
    expect(idsOf(exporting.rows('a'))).toEqual(idsOf(wanted));
  });

  it('of some channels and types holds those alone', async () => {
    const events = someEvents(300, 6);
    await appendAll(engines.log, events);
    await exporting.export('some', {
      filter: { tenant: null, channels: ['EMAIL', 'SMS'], types: ['AttemptFailed', 'RetryRequested'] },
    });
    const wanted = events.filter(
      (event) =>
        ['AttemptFailed', 'RetryRequested'].includes(event.type) &&
        'channel' in event &&
        ['EMAIL', 'SMS'].includes(event.channel),
    );
    expect(idsOf(exporting.rows('some'))).toEqual(idsOf(wanted));
  });

  it('from one time to another holds what was appended in between', async () => {
    const first = someEvents(20, 7);
    await appendAll(engines.log, first);
    const between = engines.clock.now() + 1;
    await engines.clock.sleep(3);
    const second = someEvents(20, 8);
    await appendAll(engines.log, second);
    await exporting.export('before', { to: between });
    await exporting.export('after', { from: between });
    expect(idsOf(exporting.rows('before'))).toEqual(idsOf(first));
    expect(idsOf(exporting.rows('after'))).toEqual(idsOf(second));
  });

  it('split by tenant or by day has a folder for each, in the form that DuckDB and Spark read', async () => {
    const events = withoutErasures(someEvents(60, 9)).map(
      (event, i) => ({ ...event, tenantId: `tnt_${i % 3}/x` }) as DomainEvent,
    );
    await appendAll(engines.log, events);
    const { files } = await exporting.export('tenants', { split: 'tenant', roundRows: 25 });
    for (const { path } of files) {
      const tenant = decodeURIComponent(/^tenant=(.*)\/events-\d{5}\.ndjson$/.exec(path)?.[1] ?? '');
      expect(new Set(linesOf(exporting.path('tenants', path)).map((row) => row['tenantId']))).toEqual(
        new Set([tenant]),
      );
    }
    expect(idsOf(exporting.rows('tenants'))).toEqual(idsOf(events));
    const days = await exporting.export('days', { split: 'day' });
    for (const { path } of days.files) {
      const [, day = ''] = /^day=([0-9-]{10})\/events-\d{5}\.ndjson$/.exec(path) ?? [];
      expect(linesOf(exporting.path('days', path)).every((row) => String(row['appendedAt']).startsWith(day))).toBe(
        true,
      );
    }
    expect(idsOf(exporting.rows('days'))).toEqual(idsOf(events));
  });

  it('comes in pieces of few rows where they are long: 500 of the largest requests would be 100 MiB', async () => {
    const request = someEvents(200, 21).find((event) => event.type === 'NotificationRequested');
    if (request?.type !== 'NotificationRequested') throw new Error('no request');
    const body = 'x'.repeat(190 * 1024);
    const events = Array.from({ length: 60 }, (_, i): DomainEvent => {
      return { ...request, eventId: `long-${i}` as typeof request.eventId, request: { ...request.request, body } };
    });
    await appendAll(engines.log, events);
    const place = { topic: topicOf(request), partition: request.partition };
    const source = eventsSource({
      log: { ...engines.log, id: engines.log.history.id },
      ranges: [{ ...place, from: 0, to: 60, events: 0 }],
      filter: everything,
      pieceRows: usualPieceRows,
    });
    const sizes: number[] = [];
    for await (const { rows } of source.pieces(beginning)) sizes.push(rows.length);
    expect(sizes.reduce((sum, rows) => sum + rows, 0)).toBe(60);
    expect(Math.max(...sizes)).toBeLessThan(25);
  });

  it('tells of bytes that do not decode, so that its rows are as many as the log has events', async () => {
    const [first, ...rest] = someEvents(20, 20);
    if (first === undefined) throw new Error('no events');
    await appendAll(engines.log, [first, ...rest]);
    const { DatabaseSync } = await import('node:sqlite');
    const db = new DatabaseSync(`${engines.folder}/log.db`);
    db.prepare(
      `UPDATE events SET bytes = x'00' WHERE topic = (SELECT id FROM topics WHERE name = ?) AND "partition" = ?`,
    ).run(topicOf(first), first.partition);
    db.close();
    await exporting.export('all');
    const rows = exporting.rows('all');
    expect(rows).toHaveLength(20);
    expect(rows.filter((row) => row['undecodable'] !== null).length).toBeGreaterThan(0);
  });
});

function failAt(read: number, at: number): void {
  if (read > at) throw new Error('cut off');
}

describe('verifying an export', () => {
  beforeEach(async () => {
    await appendAll(engines.log, someEvents(40, 30));
    await exporting.export('out');
  });

  it('finds a file that has changed and one that is gone', async () => {
    await appendFile(exporting.path('out', 'events-00001.ndjson'), '{}\n');
    expect(await exporting.verify('out')).toEqual([
      expect.stringMatching(/^events-00001\.ndjson is not what was written/),
    ]);
    await rm(exporting.path('out', 'events-00001.ndjson'));
    expect(await exporting.verify('out')).toEqual(['events-00001.ndjson is not there']);
  });

  it('finds what the log has more of than the export says', async () => {
    const path = exporting.path('out', 'manifest.json');
    const manifest = JSON.parse(await readFile(path, 'utf8')) as { ranges: { events: number; to: number }[] };
    const range = manifest.ranges.find(({ events }) => events > 0);
    if (range === undefined) throw new Error('no events');
    range.events--;
    await writeFile(path, JSON.stringify(manifest));
    expect(await exporting.verify('out')).toEqual([
      expect.stringMatching(/has \d+ events from 0 to \d+ by now, the manifest says \d+$/),
    ]);
  });

  it('is not disturbed by what was appended since', async () => {
    await appendAll(engines.log, someEvents(40, 31));
    expect(await exporting.verify('out')).toEqual([]);
  });
});

describe('an export is refused', () => {
  it('into a folder that holds something else, which it names', async () => {
    await mkdir(exporting.path('other'));
    await writeFile(exporting.path('other', 'notes.txt'), 'of somebody');
    await expect(exporting.export('other')).rejects.toThrow(/is not empty \(notes\.txt\)/);
  });

  it('into one that is complete, with how to go on from it', async () => {
    await exporting.export('done');
    await expect(exporting.export('done')).rejects.toThrow(
      /is complete: name another folder\. What came since: --since /,
    );
  });

  it('into one that was begun with other options, which it names', async () => {
    await appendAll(engines.log, someEvents(40, 40));
    await expect(exporting.export('out', { roundRows: 10, onProgress: (read) => failAt(read, 15) })).rejects.toThrow(
      'cut off',
    );
    await expect(exporting.export('out', { format: 'csv' })).rejects.toThrow(
      /begun with another --format and is not complete/,
    );
    expect(existsSync(exporting.path('out', 'progress.json'))).toBe(true);
  });

  it('into one that another version began, whose columns were others', async () => {
    await appendAll(engines.log, someEvents(40, 40));
    await expect(exporting.export('out', { roundRows: 10, onProgress: (read) => failAt(read, 15) })).rejects.toThrow(
      'cut off',
    );
    const progress = exporting.path('out', 'progress.json');
    const said = JSON.parse(await readFile(progress, 'utf8')) as Record<string, unknown[]>;
    await writeFile(progress, JSON.stringify({ ...said, columns: said['columns']?.slice(1) }));
    await expect(exporting.export('out', { roundRows: 10 })).rejects.toThrow(/another version of Herald has begun/);
  });

  it('into one that was begun of another log: rows of both would be in it, and it would call itself complete', async () => {
    await appendAll(engines.log, someEvents(40, 42));
    await expect(exporting.export('out', { roundRows: 10, onProgress: (read) => failAt(read, 25) })).rejects.toThrow(
      'cut off',
    );
    const other = await openEngines();
    const there = await startExporting(other.log);
    try {
      await appendAll(other.log, someEvents(40, 43));
      const folder = exporting.path('out');
      await expect(there.export('out', { folder, roundRows: 10 })).rejects.toThrow(/is of another log/);
      expect((await exporting.export('out', { roundRows: 10 })).rows).toBe(40);
    } finally {
      await there.remove();
      await other.close();
    }
  });

  it('into one that was begun before the log was put back from a backup', async () => {
    await appendAll(engines.log, someEvents(40, 44));
    await expect(exporting.export('out', { roundRows: 10, onProgress: (read) => failAt(read, 25) })).rejects.toThrow(
      'cut off',
    );
    const { ends, history } = engines.log;
    const log = { ...engines.log, id: history.id, ends: async (topic: Topic) => (await ends(topic)).map(() => 0) };
    await expect(exporting.export('out', { roundRows: 10, log })).rejects.toThrow(
      /ends at 0, and the export goes on to \d+: the log was put back from a backup since/,
    );
  });

  it('from one that is not complete, and from one of another log', async () => {
    await appendAll(engines.log, someEvents(40, 41));
    await expect(exporting.export('out', { onProgress: (read) => failAt(read, 15) })).rejects.toThrow('cut off');
    await expect(async () => exporting.exportSince('next', 'out')).rejects.toThrow(
      /is not complete: run it again until it is/,
    );
    await exporting.export('out');
    const other = await openEngines();
    const there = await startExporting(other.log);
    try {
      const since = {
        since: { manifest: JSON.parse(await readFile(exporting.path('out', 'manifest.json'), 'utf8')), text: '' },
      };
      await expect(there.export('next', since)).rejects.toThrow(/is of another log/);
    } finally {
      await there.remove();
      await other.close();
    }
  });

  it('where a manifest was written by nobody of ours', async () => {
    await exporting.export('out');
    await writeFile(exporting.path('out', 'manifest.json'), '{"version":2}');
    await expect(exporting.export('out')).rejects.toThrow(/manifest\.json was not written by this version of Herald/);
  });
});

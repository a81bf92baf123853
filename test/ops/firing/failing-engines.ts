// Failures of the embedded engines: the process itself, its disk, its log, its read models.

import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { createClock } from '../../../src/adapters/node/clock.ts';
import { openEventLog } from '../../../src/adapters/sqlite/event-log/event-log.ts';
import { createCodec } from '../../../src/codec/index.ts';
import type { NotificationRequested } from '../../../src/domain/events.ts';
import { allTopics, defaultPartitioning } from '../../../src/domain/topics.ts';
import type { DataDir, Environment, Herald } from '../../support/herald.ts';
import { herald } from '../../support/herald.ts';
import { readinessOf } from '../../support/nodes.ts';
import { recordOf } from '../../support/records.ts';
import { requested } from '../../support/requested.ts';
import { until } from '../../support/until.ts';
import type { Page } from './scrape.ts';
import { scrape, sumOf } from './scrape.ts';
import type { Failure } from './stage.ts';
import { inThePast, scraped } from './stage.ts';

const gib = 1024 ** 3;
const inApp = { channel: 'IN_APP', recipient: 'ada', body: 'Hello' };
const folded = 'herald_folded_events_total';

export const failingEngines: readonly Failure[] = [
  {
    what: 'the process is killed',
    fires: ['HeraldDown'],
    async run({ start }) {
      const service = await start();
      const before = await scrape(service);
      await service.kill();
      return { before, failing: await scrape(service).catch(() => null) };
    },
  },
  {
    what: 'the process gets no processor time',
    fires: ['HeraldLoopBlocked'],
    isAlone: true,
    async run({ start }) {
      const service = await start();
      const before = await scrape(service);
      service.process.kill('SIGSTOP');
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      service.process.kill('SIGCONT');
      return { before, failing: await scrape(service) };
    },
  },
  {
    what: 'events do not fit on the disk any more',
    fires: ['HeraldAppendsFail', 'HeraldUnavailable'],
    async run({ folder, start }) {
      const dataDir = await folder();
      const service = await start({ dataDir });
      await delivered(service);
      // The read models write to the same disk: what they have yet to fold would fail as well.
      const isFolded = (page: Page) => sumOf(page, folded, 'inbox') > 0 && sumOf(page, folded, 'search') > 0;
      const before = await scraped(service, isFolded, 'the item to be in every read model');
      // Less than the event, wherever in its file it would be written.
      const limitBytes = 128 * 1024;
      execFileSync('prlimit', ['--pid', String(service.process.pid), `--fsize=${limitBytes}:unlimited`]);
      const { status } = await service.notify({ ...inApp, body: 'x'.repeat(150_000) });
      if (status !== 503) throw new Error(`it was answered with ${status}`);
      const isCounted = (page: typeof before) => sumOf(page, 'herald_http_requests_total', 'status="503"') > 0;
      return { before, failing: await scraped(service, isCounted, 'the request to be counted') };
    },
  },
  {
    what: 'under 2 GiB are free',
    fires: ['HeraldDiskFull'],
    async run({ folder, start }) {
      const dataDir = await folder();
      const disk = madeUpDisk(dataDir);
      await disk.has(gib);
      const service = await start({ dataDir, environment: disk.environment });
      return { before: await scrape(service), failing: await scrape(service) };
    },
  },
  {
    what: 'the disk loses 1.5 GiB a minute, and will be full in an hour',
    fires: ['HeraldDiskFills'],
    async run({ folder, start }) {
      const dataDir = await folder();
      const disk = madeUpDisk(dataDir);
      await disk.has(100 * gib);
      const service = await start({ dataDir, environment: disk.environment });
      const before = await scrape(service);
      await disk.has(98.5 * gib);
      return { before, failing: await scrape(service), moving: ['herald_disk_free_bytes'] };
    },
  },
  {
    what: 'a bit has turned in the log',
    fires: ['HeraldDeadLetters'],
    async run({ folder, start }) {
      const dataDir = await folder();
      const first = await start({ dataDir });
      await delivered(first);
      const before = await scrape(first);
      await first.stop();
      onFile(dataDir, 'log.db', turnABit);
      await dataDir.dropReadModels();
      const second = await start({ dataDir });
      return {
        before,
        failing: await scraped(second, (page) => sumOf(page, 'herald_dead_letters_total') > 0, 'the dead letter'),
      };
    },
  },
  {
    what: 'a document is too large',
    fires: ['HeraldDocumentCut'],
    async run({ folder, start }) {
      const dataDir = await folder();
      const first = await start({ dataDir });
      await delivered(first);
      const before = await scrape(first);
      await first.stop();
      await appendTooLarge(dataDir);
      const second = await start({ dataDir });
      return {
        before,
        failing: await scraped(second, (page) => sumOf(page, 'herald_documents_cut_total') > 0, 'the cut document'),
      };
    },
  },
  {
    what: 'views.db is locked by another program',
    fires: ['HeraldFoldFails', 'HeraldReadModelBehind', 'HeraldStandsStill'],
    async run({ folder, start, atEnd }) {
      const dataDir = await folder();
      const service = await start({ dataDir });
      await delivered(service);
      const before = await scrape(service);
      const other = new DatabaseSync(join(dataDir.path, 'views.db'), { timeout: 10_000 });
      atEnd(() => other.close());
      other.exec('BEGIN IMMEDIATE');
      await service.notify(inApp);
      const failing = await scraped(
        service,
        (page) =>
          sumOf(page, 'herald_standing_still') > 0 &&
          sumOf(page, 'herald_projector_lag', 'read_model="notifications_2"') > 30,
        'the read models to stand still',
      );
      return { before, failing };
    },
  },
  {
    what: 'the log does not let go of what retention has ended',
    fires: ['HeraldRetentionBehind', 'HeraldStandsStill'],
    async run({ folder, start }) {
      const dataDir = await folder();
      const service = await start({ dataDir, environment: { RETENTION: '10s' } });
      onFile(dataDir, 'log.db', (db) => db.exec(trimmingRefused));
      await delivered(service);
      const before = await scrape(service);
      const failing = await scraped(
        service,
        (page) =>
          sumOf(page, 'herald_standing_still', 'group="retention"') > 0 &&
          sumOf(page, 'herald_retention_lag_seconds') > 0.1 * sumOf(page, 'herald_retention_seconds'),
        'retention to stand still',
      );
      return { before, failing };
    },
  },
  {
    what: 'what is searched was not written for 20 minutes',
    fires: ['HeraldFoldFails', 'HeraldSearchBehind'],
    async run({ folder, start }) {
      const dataDir = await folder();
      const first = await start({ dataDir, environment: inThePast(1200) });
      onFile(dataDir, 'views.db', (db) => db.exec(searchRefused));
      const before = await scrape(first);
      await delivered(first);
      await first.stop();
      const second = await start({ dataDir });
      const failing = await scraped(
        second,
        (page) =>
          sumOf(page, 'herald_fold_failures_total') > 0 &&
          sumOf(page, 'herald_projector_lag', 'read_model="search') > 900,
        'the search to be behind',
      );
      return { before, failing };
    },
  },
  {
    what: 'a rebuild beside the service is refused by its file',
    fires: ['HeraldRebuildStandsStill'],
    async run({ folder, start }) {
      const dataDir = await folder();
      const service = await start({ dataDir });
      await delivered(service);
      const before = await scrape(service);
      onFile(dataDir, 'views.db', (db) => db.exec(nextVersionsRefused));
      const asked = herald(['rebuild'], dataDir.environment);
      const isStill = (page: typeof before) => sumOf(page, 'herald_rebuild_standing_still') > 0;
      const failing = await scraped(service, isStill, 'the filling to stand still');
      const readiness = await readinessOf(service.operationsUrl);
      onFile(dataDir, 'views.db', (db) => db.exec('DROP TRIGGER refused_next'));
      await asked;
      if (readiness?.status !== 'ready') throw new Error('what serves does well, and it is not ready');
      return { before, failing };
    },
  },
  {
    what: 'numbers of the read models are taken over by nobody of the group',
    fires: ['HeraldNumbersOwnedAgain'],
    async run({ folder, start }) {
      const dataDir = await folder();
      const service = await start({ dataDir });
      await delivered(service);
      const before = await scrape(service);
      onFile(dataDir, 'views.db', (db) => db.exec('UPDATE positions SET epoch = epoch + 1'));
      await service.notify(inApp);
      const isSo = 'herald_numbers_owned_again_total';
      return { before, failing: await scraped(service, (page) => sumOf(page, isSo) > 0, 'the owner to come back') };
    },
  },
];

/** Delivered, and folded. */
async function delivered(service: Herald): Promise<void> {
  const { body } = await service.notify(inApp);
  const id = String(body['notificationId']);
  await until(async () => (await recordOf(service, id))?.status === 'DELIVERED', { timeoutMs: 60_000, what: id });
}

/** Another program's hand in a file. */
function onFile(dataDir: DataDir, name: string, work: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(join(dataDir.path, name), { timeout: 5_000 });
  try {
    work(db);
  } finally {
    db.close();
  }
}

/** In the middle of the body: it decodes as before, to another text. */
function turnABit(db: DatabaseSync): void {
  const row = db.prepare("SELECT rowid, bytes FROM events WHERE instr(bytes, CAST('Hello' AS BLOB)) > 0").get();
  const bytes = Buffer.from(row?.['bytes'] as Uint8Array);
  bytes.write('J', bytes.indexOf('Hello'));
  db.prepare('UPDATE events SET bytes = ? WHERE rowid = ?').run(bytes, Number(row?.['rowid']));
}

/** Its positions alone can't be written, so nothing of its batches is. */
const searchRefused = `
  CREATE TRIGGER refused BEFORE UPDATE OF offsets ON positions WHEN NEW.read_model LIKE 'search%'
  BEGIN SELECT RAISE(ABORT, 'refused by the test'); END`;

const trimmingRefused = `
  CREATE TRIGGER kept BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'refused by the test'); END`;
/** What serves is of the first version. */
const nextVersionsRefused = `
  CREATE TRIGGER refused_next BEFORE UPDATE OF offsets ON positions WHEN NEW.version > 1
  BEGIN SELECT RAISE(ABORT, 'refused by the test'); END`;

/** How full the disk is says a file: no test fills a machine's disk. */
function madeUpDisk({ path }: DataDir): { readonly environment: Environment; has(bytes: number): Promise<void> } {
  const file = join(path, 'free-bytes');
  const code = `import fs from 'node:fs';import {syncBuiltinESMExports as s} from 'node:module';fs.statfsSync=()=>({bavail:Number(fs.readFileSync(${JSON.stringify(file)},'utf8')),bsize:1});s()`;
  return {
    environment: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` },
    has: (bytes) => writeFile(file, String(bytes)),
  };
}

/** What the API refuses stands in the log, by whoever's hand. */
async function appendTooLarge({ path }: DataDir): Promise<void> {
  const log = openEventLog({
    path: join(path, 'log.db'),
    topics: allTopics,
    groups: [],
    partitioning: defaultPartitioning,
    codec: createCodec(),
    clock: createClock(),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  const event = requested(0, 1, 'BULK');
  const large: NotificationRequested = { ...event, request: { ...event.request, body: 'x'.repeat(5 * 1024 * 1024) } };
  const { kind } = await log.append(large);
  await log.close();
  if (kind !== 'durable') throw new Error(`the append was ${kind}`);
}

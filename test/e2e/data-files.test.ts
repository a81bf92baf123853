// Every file of DATA_DIR exchanged, deleted and damaged under the service: folded anew or refused with a sentence, never silent, and nothing is sent twice.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { DataDir, Herald } from '../support/herald.ts';
import { herald as command } from '../support/herald.ts';
import type { DeliveryWorld } from '../support/delivery-world.ts';
import { startDeliveryWorld } from '../support/delivery-world.ts';
import type { Installations } from '../support/installations.ts';
import { createInstallations, deliverAll } from '../support/installations.ts';
import { allRecords } from '../support/records.ts';
import { until } from '../support/until.ts';

let world: DeliveryWorld;
let installations: Installations;
/** An installation, the same as it was before its last notifications, and another one. */
let whole: DataDir;
let older: DataDir;
let other: DataDir;
const first = ['/first-1', '/first-2', 'ada', 'bob'];
const second = ['/second-1', '/second-2', '/second-3', 'ada', 'bob', 'eve'];
const at = (names: readonly string[]) => names.map((name) => (name.startsWith('/') ? world.webhooks.url + name : name));

beforeAll(async () => {
  world = await startDeliveryWorld((request, response) => {
    const isFirst = world.webhooks.requests.filter(({ path }) => path === request.path).length === 1;
    response.writeHead(request.path.startsWith('/retried') && isFirst ? 500 : 200).end();
  });
  installations = await createInstallations({ ...world.environment, RETRY_DELAYS: '1s' });
  whole = await installations.folder();
  other = await installations.folder();
  await Promise.all([installations.run(whole, at(first)), installations.run(other, at(['/other-1', 'ada']))]);
  older = await installations.folder(whole);
  await installations.run(whole, at(second));
}, 180_000);
afterAll(async () => {
  await installations.close();
  await world.close();
});

const recipientsOf = async (service: Herald) =>
  (await allRecords(service)).map((record) => String(record['recipient'])).sort();
const sentTwice = () =>
  world.webhooks.requests
    .map(({ path }) => path)
    .filter((path, i, all) => !path.startsWith('/retried') && all.indexOf(path) < i);

/** What comes after: a record, an item in the inbox, and a timer that fires. */
let fresh = 0;
async function takesMore(service: Herald): Promise<string[]> {
  const more = at([...Array.from({ length: 12 }, () => `user-${++fresh}`), `/retried-${++fresh}`]);
  await deliverAll(service, more);
  const { body } = await service.call('GET', `/api/v1/notify/inapp/${more[0]}`, {
    headers: { 'x-api-key': service.apiKey },
  });
  expect(body['notifications']).toHaveLength(1);
  return more;
}

/** The folder goes on with these records, and takes more. */
async function goesOnWith(dataDir: DataDir, recipients: readonly string[]): Promise<string> {
  const service = await installations.start(dataDir);
  const more = await takesMore(service);
  expect(await recipientsOf(service)).toEqual([...recipients, ...more].sort());
  const logs = service.logs();
  expect(await service.stop()).toBe(0);
  expect(sentTwice()).toEqual([]);
  return logs;
}

/** Of every file but the lock's. */
function contentsOf({ path }: DataDir): Record<string, string> {
  const names = readdirSync(path).filter((name) => !name.startsWith('lock') && statSync(join(path, name)).isFile());
  return Object.fromEntries(
    names.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(path, name)))
        .digest('hex'),
    ]),
  );
}

async function sentence(dataDir: DataDir): Promise<string> {
  const { stderr, code } = await installations.refusal(dataDir);
  expect([code, stderr.trim().split('\n').length, stderr]).toEqual([1, 1, expect.not.stringMatching(/^\s+at /m)]);
  return stderr;
}

const onALog = [
  ['rebuild'],
  ['rebuild', '--watch'],
  ['reconcile'],
  ['dead-letters', 'list'],
  ['compact'],
  ['erase', '--tenant', 'tnt_1', '--recipient', 'EMAIL:ada@example.com'],
];
/** What each of them says in one sentence. */
const commandsOnALog = async ({ environment }: DataDir) => {
  const ended: unknown[] = [];
  for (const args of onALog) {
    const { code, stdout, stderr } = await command(args, environment);
    ended.push([args[0], code, stdout, stderr.trimEnd()]);
  }
  return ended;
};
const commandsOnALogAre = (sentence: RegExp) =>
  onALog.map(([name]) => [name, 1, '', expect.stringMatching(new RegExp(`^[^\\n]*${sentence.source}[^\\n]*$`))]);

const foldedAnew = /removed and folded anew/;

describe('a file that is another one', () => {
  it('log.db of an earlier backup: its read models are folded anew, and all that comes after is seen', async () => {
    const folder = await installations.folder(whole);
    await installations.put(folder, 'log.db', older);
    const logs = await goesOnWith(folder, at(first));
    expect(logs).toMatch(foldedAnew);
    expect(logs).toMatch(/"events":[1-9]/);
  });

  it('log.db of an earlier backup: what it lacks is accepted once more under its key, what it has is not', async () => {
    const folder = await installations.folder(older);
    const keyed = async (service: Herald, recipient: string) => {
      const headers = { 'x-api-key': service.apiKey, 'idempotency-key': `for ${recipient}` };
      const body = { channel: 'IN_APP', recipient, body: 'Hello' };
      const { status, headers: answered } = await service.call('POST', '/api/v1/notify', { headers, body });
      expect(status).toBe(202);
      return answered.get('idempotent-replayed');
    };
    const started = await installations.start(folder);
    expect(await keyed(started, 'early')).toBeNull();
    expect(await started.stop()).toBe(0);
    const backup = await installations.folder(folder);
    const before = await installations.start(folder);
    expect(await keyed(before, 'late')).toBeNull();
    expect(await before.stop()).toBe(0);
    await installations.put(folder, 'log.db', backup);
    const after = await installations.start(folder);
    expect([await keyed(after, 'late'), await keyed(after, 'early')]).toEqual([null, 'true']);
    const recorded = async () => (await recipientsOf(after)).filter((name) => name === 'late' || name === 'early');
    await until(async () => (await recorded()).length === 2, { what: 'both to be recorded' });
    expect(await recorded()).toEqual(['early', 'late']);
    expect(await after.stop()).toBe(0);
  });

  it('log.db of another installation: refused, and nothing is changed by it', async () => {
    const folder = await installations.folder(whole);
    await installations.put(folder, 'log.db', other);
    const before = contentsOf(folder);
    expect(await sentence(folder)).toMatch(/settings\.db holds the settings of another log than .*log\.db/);
    expect({ ...contentsOf(folder), 'log.db': '' }).toEqual({ ...before, 'log.db': '' });
  });

  it('views.db of another installation: folded anew', async () => {
    const folder = await installations.folder(whole);
    await installations.put(folder, 'views.db', other);
    expect(await goesOnWith(folder, at([...first, ...second]))).toMatch(foldedAnew);
  });

  it('views.db of an earlier backup: goes on from there', async () => {
    const folder = await installations.folder(whole);
    await installations.put(folder, 'views.db', older);
    expect(await goesOnWith(folder, at([...first, ...second]))).not.toMatch(foldedAnew);
  });

  it('views.db of before log.db was put back: folded anew, though the log has grown beyond it', async () => {
    const folder = await installations.folder(older);
    const again = Array.from({ length: 3 }, () => second.filter((name) => !name.startsWith('/'))).flat();
    await installations.run(folder, again);
    await installations.put(folder, 'views.db', whole);
    expect(await goesOnWith(folder, at([...first, ...again]))).toMatch(foldedAnew);
  });

  it('settings.db of another installation: refused', async () => {
    const folder = await installations.folder(whole);
    await installations.put(folder, 'settings.db', other);
    expect(await sentence(folder)).toMatch(/settings\.db holds the settings of another log/);
  });

  it('settings.db of an earlier backup: goes on', async () => {
    const folder = await installations.folder(whole);
    await installations.put(folder, 'settings.db', older);
    await goesOnWith(folder, at([...first, ...second]));
  });

  it('encryption-secret of another installation: refused', async () => {
    const folder = await installations.folder(whole);
    await installations.put(folder, 'encryption-secret', other);
    expect(await sentence(folder)).toMatch(/ENCRYPTION_SECRET is not the one that sealed the settings/);
  });

  it('issuer-key.json of another installation: its tokens are taken', async () => {
    const folder = await installations.folder(whole);
    await installations.put(folder, 'issuer-key.json', other);
    await goesOnWith(folder, at([...first, ...second]));
  });

  it.each([
    ['views.db', 'log.db'],
    ['log.db', 'settings.db'],
    ['settings.db', 'views.db'],
  ])('%s in the place of %s: refused', async (name, place) => {
    const folder = await installations.folder(whole);
    writeFileSync(join(folder.path, place), readFileSync(join(folder.path, name)));
    expect(await sentence(folder)).toContain(`${join(folder.path, place)} is a database of another kind`);
  });
});

describe('a file that is gone', () => {
  it('log.db: refused until it is put back, and nothing is made in its place', async () => {
    const folder = await installations.folder(whole);
    await installations.remove(folder, 'log.db');
    const before = contentsOf(folder);
    expect(await sentence(folder)).toContain(`${join(folder.path, 'log.db')} is not there`);
    expect(await commandsOnALog(folder)).toEqual(commandsOnALogAre(/log\.db is not there/));
    expect(contentsOf(folder)).toEqual(before);
    await installations.put(folder, 'log.db', whole);
    await goesOnWith(folder, at([...first, ...second]));
  });

  it('log.db and views.db: every command says so too, and makes nothing', async () => {
    const folder = await installations.folder(whole);
    for (const name of ['log.db', 'views.db']) await installations.remove(folder, name);
    const before = contentsOf(folder);
    expect(await commandsOnALog(folder)).toEqual(commandsOnALogAre(/log\.db is not there, and .*settings\.db says/));
    expect(contentsOf(folder)).toEqual(before);
  }, 120_000);

  it('the whole folder: every command says so, and makes none', async () => {
    const folder = await installations.folder();
    expect(await commandsOnALog(folder)).toEqual(commandsOnALogAre(/holds no log \(log\.db\)/));
    expect(existsSync(folder.path)).toBe(false);
  }, 120_000);

  it('log.db, by a decision: an empty one is begun, and the read models with it', async () => {
    const folder = await installations.folder(whole);
    await installations.remove(folder, 'log.db');
    expect((await command(['adopt'], folder.environment)).code).toBe(0);
    expect(await goesOnWith(folder, [])).toMatch(foldedAnew);
  });

  it('views.db: folded anew', async () => {
    const folder = await installations.folder(whole);
    await installations.remove(folder, 'views.db');
    await goesOnWith(folder, at([...first, ...second]));
  });

  it('settings.db: refused, and nothing is made in its place', async () => {
    const folder = await installations.folder(whole);
    await installations.remove(folder, 'settings.db');
    expect(await sentence(folder)).toContain(`${join(folder.path, 'settings.db')} is not there`);
    expect(readdirSync(folder.path)).not.toContain('settings.db');
  });

  it('settings.db, by a decision: the tenants are made anew', async () => {
    const folder = await installations.folder(whole);
    await installations.remove(folder, 'settings.db');
    expect((await command(['adopt'], folder.environment)).code).toBe(0);
    const service = await installations.start(folder);
    await takesMore(service);
    expect(await service.stop()).toBe(0);
  });

  it('encryption-secret: refused, and by a decision the sealed keys stay closed', async () => {
    const folder = await installations.folder(whole);
    await installations.remove(folder, 'encryption-secret');
    expect(await sentence(folder)).toMatch(/ENCRYPTION_SECRET is not the one that sealed the settings/);
    expect((await command(['adopt'], folder.environment)).code).toBe(0);
    const service = await installations.start(folder);
    expect(service.apiKey).toMatch(/^•+$/);
    expect(await service.stop()).toBe(0);
  });

  it('issuer-key.json: another one is made', async () => {
    const folder = await installations.folder(whole);
    await installations.remove(folder, 'issuer-key.json');
    await goesOnWith(folder, at([...first, ...second]));
  });
});

describe('a file that is damaged', () => {
  const damages: Readonly<Record<string, (path: string) => void>> = {
    'is cut': (path) => writeFileSync(path, readFileSync(path).subarray(0, 100)),
    'is all zeros': (path) => writeFileSync(path, Buffer.alloc(8192)),
    'has another header': (path) =>
      writeFileSync(path, Buffer.concat([Buffer.alloc(512, 0xa7), readFileSync(path).subarray(512)])),
    'is a folder': (path) => {
      rmSync(path);
      mkdirSync(path);
    },
  };
  const mustStay = /must not be deleted: put it back from its backup/;
  const mayGo = /may be deleted/;
  const files: readonly (readonly [name: string, remedy: RegExp, without?: readonly string[]])[] = [
    ['log.db', mustStay],
    ['views.db', mayGo],
    ['settings.db', mustStay],
    ['lock.db', mayGo, ['is cut']],
    ['encryption-secret', mustStay, ['is cut', 'is all zeros', 'has another header']],
    ['issuer-key.json', mayGo],
  ];
  const cases = files.flatMap(([name, remedy, without = []]) =>
    Object.keys(damages).flatMap((damage) => (without.includes(damage) ? [] : [[name, damage, remedy] as const])),
  );

  it.each(cases)('%s %s: one sentence with its path and what may be done', async (name, damage, remedy) => {
    const folder = await installations.folder(whole);
    const path = join(folder.path, name);
    damages[damage]?.(path);
    const told = await sentence(folder);
    expect(told).toContain(path);
    expect(told).toMatch(remedy);
  });

  it('encryption-secret with other bytes: refused as another one', async () => {
    const folder = await installations.folder(whole);
    writeFileSync(join(folder.path, 'encryption-secret'), Buffer.alloc(40, 0xa7));
    expect(await sentence(folder)).toMatch(/ENCRYPTION_SECRET is not the one/);
  });
});

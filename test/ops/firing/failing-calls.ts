// Failures of answering: faults of our own, stores that are gone, clients that don't read, take all connections or keep the thread.

import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import type { DataDir, Herald } from '../../support/herald.ts';
import { createProvisioner } from '../../support/provisioning.ts';
import { until } from '../../support/until.ts';
import { noises } from '../../support/worst-tenant.ts';
import type { Page } from './scrape.ts';
import { scrape, sumOf } from './scrape.ts';
import type { Failure, Stage } from './stage.ts';
import { scraped } from './stage.ts';

export const failingCalls: readonly Failure[] = [
  {
    what: 'what is stored can not be parsed, which is a bug',
    fires: ['HeraldErrors'],
    async run({ folder, start }) {
      const dataDir = await folder();
      const service = await start({ dataDir });
      await savedSms(service);
      const before = await scrape(service);
      inSettings(dataDir, "UPDATE providers SET config = '{'");
      return { before, failing: await answered(service, '/providers', 500) };
    },
  },
  {
    what: 'a store does not answer',
    fires: ['HeraldUnavailable'],
    async run({ folder, start }) {
      const dataDir = await folder();
      const service = await start({ dataDir });
      const before = await scrape(service);
      inSettings(dataDir, 'ALTER TABLE templates RENAME TO gone');
      return { before, failing: await answered(service, '/templates', 503) };
    },
  },
  {
    what: 'clients of eight tenants do not read their answers',
    fires: ['HeraldAnswersHeld'],
    isAlone: true,
    async run(stage) {
      const dataDir = await stage.folder();
      const service = await stage.start({ dataDir });
      const before = await scrape(service);
      const provisioner = await createProvisioner(dataDir, service);
      const apiKeys: string[] = [];
      for (let i = 0; i < 8; i++) apiKeys.push((await provisioner.tenant()).apiKey);
      for (const apiKey of apiKeys) await fillInbox({ ...service, apiKey });
      const isHeld = (page: typeof before) => sumOf(page, 'herald_answers_bytes') > 48 * 1024 * 1024;
      const askers = apiKeys.flatMap((apiKey) => Array.from({ length: 8 }, () => deafAsker(stage, service, apiKey)));
      return {
        before,
        failing: await scraped(service, isHeld, 'answers that wait', () => askers.forEach((ask) => ask())),
      };
    },
  },
  {
    what: 'twenty streams are not read',
    fires: ['HeraldStreamsDropped'],
    async run(stage) {
      const service = await stage.start();
      const before = await scrape(service);
      for (let i = 0; i < 20; i++) deaf(stage, service, service.apiKey, '/notify/inapp/ada/stream', 1);
      await scraped(service, (page) => sumOf(page, 'herald_streams') === 20, 'the streams');
      for (let i = 0; i < 40; i++) await service.notify({ ...inApp, body: 'x'.repeat(200_000) });
      const areDropped = (page: typeof before) => sumOf(page, 'herald_streams_ended_total', 'reason="slow"') === 20;
      return { before, failing: await scraped(service, areDropped, 'the streams to be dropped') };
    },
  },
  {
    what: 'one address takes all its connections',
    fires: ['HeraldConnectionsRefused'],
    async run(stage) {
      const service = await stage.start({ environment: { CONNECTIONS_PER_ADDRESS: '10' } });
      const before = await scrape(service);
      for (let i = 0; i < 20; i++) deaf(stage, service, service.apiKey, '/nowhere', 1);
      const areRefused = (page: typeof before) => sumOf(page, 'herald_connections_refused_total') > 0;
      return { before, failing: await scraped(service, areRefused, 'a connection to be refused') };
    },
  },
  {
    what: 'a tenant keeps the main thread',
    fires: ['HeraldTenantBusy'],
    isAlone: true,
    async run({ folder, start, sink, atEnd }) {
      const dataDir = await folder();
      const service = await start({ dataDir });
      const tenant = await (await createProvisioner(dataDir, service)).tenant();
      await fillInbox({ ...service, apiKey: tenant.apiKey });
      const { reads } = noises;
      if (reads === undefined) throw new Error('there is no such noise');
      const worst = {
        tenant: { ...tenant, url: `${tenant.url}/api/v1` },
        refusing: await sink(),
        marks: { inbox: '', dashboard: '' },
        ids: { largest: '', failed: [] },
      };
      atEnd(await reads(worst));
      const busy = (page: typeof before) => sumOf(page, 'herald_tenant_busy_seconds');
      const before = await scrape(service);
      const since = performance.now();
      return until(
        async () => {
          const failing = await scrape(service);
          const everySeconds = Math.round((performance.now() - since) / 1000);
          const isBusy = everySeconds >= 5 && busy(failing) - busy(before) > 0.35 * everySeconds;
          return isBusy && { before, failing, everySeconds, moving: ['herald_tenant_busy_seconds'] };
        },
        { timeoutMs: 150_000, everyMs: 1_000, what: 'a tenant that keeps the thread' },
      );
    },
  },
];

const inApp = { channel: 'IN_APP', recipient: 'ada' };

async function savedSms(service: Herald): Promise<void> {
  const config = { accountSid: 'AC1', from: '+15005550006' };
  const provider = { channel: 'SMS', provider: 'twilio', apiKey: 'secret', config, enabled: true };
  const { status } = await service.dashboard('POST', '/providers', provider);
  if (status >= 300) throw new Error(`the provider was not saved: ${status}`);
}

/** Another program's hand in the file. */
function inSettings({ path }: DataDir, sql: string): void {
  const db = new DatabaseSync(join(path, 'settings.db'), { timeout: 5_000 });
  try {
    db.exec(sql);
  } finally {
    db.close();
  }
}

/** A request is counted once its answer is written, which its client may have before. */
async function answered(service: Herald, path: string, status: number): Promise<Page> {
  const answer = await service.dashboard('GET', path);
  if (answer.status !== status) throw new Error(`${path} was answered with ${answer.status}`);
  const isCounted = (page: Page) => sumOf(page, 'herald_http_requests_total', `status="${status}"`) > 0;
  return scraped(service, isCounted, 'the request to be counted');
}

/** A page of it is 1 MiB. */
async function fillInbox(service: Herald): Promise<void> {
  const body = 'x'.repeat(190 * 1024);
  for (let i = 0; i < 6; i++) await service.notify({ ...inApp, body }, service.apiKey);
  await until(
    async () => {
      const headers = { 'x-api-key': service.apiKey };
      return (await service.call('GET', '/api/v1/notify/inapp/ada?limit=1', { headers })).body['unreadCount'] === 6;
    },
    { timeoutMs: 60_000, everyMs: 100, what: 'the inbox' },
  );
}

/**
 * A client that asks for the inbox twice a call and reads nothing. The system's buffers take its first answers, those after them wait in the service; one that is
 * cut, since it takes nothing, comes back. 8 of a tenant stay under its 1,000 reads in 10 s with 5 calls a second.
 */
function deafAsker({ atEnd }: Stage, service: Herald, apiKey: string): () => void {
  let socket: Socket | undefined;
  atEnd(() => socket?.destroy());
  return () => {
    if (socket === undefined || socket.destroyed) {
      socket = connect({ port: Number(new URL(service.url).port), host: '127.0.0.1' });
      socket.on('error', () => undefined).pause();
    }
    socket.write(requestOf('/notify/inapp/ada?limit=100', apiKey).repeat(2));
  };
}

/** A client that asks so many times and reads nothing. */
function deaf({ atEnd }: Stage, service: Herald, apiKey: string, path: string, times: number): void {
  const socket = connect({ port: Number(new URL(service.url).port), host: '127.0.0.1' });
  atEnd(() => socket.destroy());
  socket.on('error', () => undefined).pause();
  socket.write(requestOf(path, apiKey).repeat(times));
}

const requestOf = (path: string, apiKey: string): string =>
  `GET /api/v1${path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${apiKey}\r\n\r\n`;

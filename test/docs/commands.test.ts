// Every command of the documents is run: here, as it is written and in the documents' order, or by what is named; or why it can't be is said.

import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { DataDir, Herald } from '../support/herald.ts';
import { herald, makeDataDir, processEnvironment, startHerald } from '../support/herald.ts';
import { startHttpSink } from '../support/http-sink.ts';
import type { HttpSink } from '../support/http-sink.ts';
import { documentedCommands, mentions, textOf } from './commands.ts';
import { runInShell } from './shell.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What runs each of these in its place. */
const elsewhere: Readonly<Record<string, string>> = {
  'npm ci && npm start': '.ci/first-start.sh',
  'npm run -s herald -- listen': '.ci/first-start.sh',
  'npm run -s herald -- mail': '.ci/first-start.sh',
  'npm run -s herald -- tail --status failed,retrying': 'test/e2e/terminal.test.ts',
  'npm run -s herald -- erase --tenant ID --search DIR': 'test/e2e/tenant-erasure.test.ts',
  'npm run -s herald -- erase --tenant ID --recipient EMAIL:ada@example.com --search DIR': 'test/e2e/erasure.test.ts',
  'npm ci': '.ci/run',
  'npm test': '.ci/run',
  'npm run check': '.ci/run',
  'SIM_SEEDS=10000 npm test -- test/simulator': '.ci/run',
  'npm run test:threads': '.ci/run',
  'npm run test:engine-threads': '.ci/run',
  'npm run test:tools': '.ci/run',
  'npm run test:browser': '.ci/run',
  'npm run build:web': 'Dockerfile',
  'npm pack ./clients/typescript --ignore-scripts=false': 'test/clients/package.tools.test.ts',
  'npm run client:types': 'test/generators/generated-clients.tools.test.ts',
  'npm run test:engines': '.ci/run',
  'npm run engines:up': 'test/engines/engines.engines.test.ts',
  'npm run engines:down': 'test/engines/engines.engines.test.ts',
  'npm start': 'test/e2e/npm-start.test.ts',
  'npm run -s herald -- serve --as-of 2026-11-17T09:00:00Z': 'test/e2e/look-back.test.ts',
  'npm run -s herald -- serve --as-of 2026-11-17T09:00:00Z --port 3100': 'test/e2e/look-back.test.ts',
  'npm run -s herald -- serve --as-of 2026-11-17T09:00:00Z --keep DIR/tuesday': 'test/e2e/look-back.test.ts',
  'npm run -s herald -- compare --as-of 2026-11-17T09:00:00Z --with live': 'test/e2e/look-back.test.ts',
  'npm run -s herald -- compare --as-of 2026-11-17T09:00:00Z --with DIR/tuesday': 'test/e2e/look-back.test.ts',
  'npm run -s herald -- serve --role api': 'test/e2e/cluster',
  'npm run -s herald -- serve --role dispatcher --channel email,sms': 'test/e2e/cluster',
  'npm run -s herald -- serve --role projector,scheduler': 'test/e2e/cluster',
  [`DATA_DIR=./data KAFKA_BROKERS=kafka:9092 SCHEMA_REGISTRY_URL=http://registry:8081 MONGODB_URL='mongodb://mongo/herald?replicaSet=rs0' REDIS_URL=redis://redis:6379 npm run -s herald -- copy-log --to kafka`]:
    'test/e2e/copy-log.engines.test.ts',
};

const docker = 'needs Docker; test/deploy/docker.test.ts holds the files against the program';
const kubernetes = 'needs a cluster; test/ops/manifests.test.ts holds the manifests against the program';
const systemd = 'needs systemd and root; test/ops/manifests.test.ts holds the unit against the program';
/** Why these are run by nothing. */
const notRun: Readonly<Record<string, string>> = {
  'docker compose up --build --wait': docker,
  'docker compose logs api': docker,
  'docker compose exec api node bin/herald.js token': docker,
  'docker build -t herald . && docker run -d --name herald -p 127.0.0.1:3000:3000 -v herald:/data --stop-timeout 45 herald':
    docker,
  'docker logs herald': docker,
  'kubectl apply -f ops/kubernetes/herald.yaml': kubernetes,
  'kubectl create secret generic herald --from-literal=ENCRYPTION_SECRET=... --from-literal=KAFKA_SASL_PASSWORD=... --from-literal=MONGODB_URL=... --from-literal=REDIS_URL=...':
    kubernetes,
  'systemctl daemon-reload && systemctl enable --now herald': systemd,
  'npm ci --omit=dev': systemd,
  'test/docs/schemathesis.sh':
    'asks a Python of 3.10 for a package of many, and takes minutes; by hand, when routes change',
  'npm run bench': 'takes minutes, and its figures are for a quiet machine; by hand',
  'npm run bench -- --only idle': 'takes minutes, and its figures are for a quiet machine; by hand',
  'npm run bench -- --only memory': 'takes minutes, and its figures are for a quiet machine; by hand',
  'E2E_CHAOS_MINUTES=15 npm run test:real -- test/chaos': 'takes a quarter of an hour; .ci/run runs a short one',
  'E2E_FIGURES=1 npm test -- test/e2e/surplus': 'takes minutes, and its figures are for a quiet machine; by hand',
  '.ci/run': 'is what runs this',
  'npm run format': 'would write into the sources that are tested',
};

/** What a person puts in place of a name, or chooses. */
const chosen: Readonly<Record<string, string>> = {
  'npm run -s herald -- reconcile [--repair]': 'npm run -s herald -- reconcile --repair',
  'npm run -s herald -- tenants set ID --weight 3 --in-flight 64':
    'npm run -s herald -- tenants set "$ID" --weight 3 --in-flight 64',
  'npm run -s herald -- tenants set ID --retention 7d': 'npm run -s herald -- tenants set "$ID" --retention 7d',
  'npm run -s herald -- show notif_...': 'npm run -s herald -- show "$SENT"',
  'npm run -s herald -- stats --as-of 2026-11-17T09:00:00Z --tenant ID --range 7d':
    'npm run -s herald -- stats --as-of 2025-01-01T00:00:00Z --tenant "$ID" --range 7d',
  'npm run -s herald -- export --out DIR': 'npm run -s herald -- export --out "$EXPORTS/whole"',
  'npm run -s herald -- export --out DIR/monday --table events --format parquet':
    'npm run -s herald -- export --out "$EXPORTS/monday" --table events --format parquet',
  'npm run -s herald -- export --verify DIR/monday': 'npm run -s herald -- export --verify "$EXPORTS/monday"',
  'npm run -s herald -- export --out DIR/tuesday --since DIR/monday --format parquet':
    'npm run -s herald -- export --out "$EXPORTS/tuesday" --since "$EXPORTS/monday" --format parquet',
  'npm run -s herald -- export --out DIR/attempts --table attempts --format csv --split day':
    'npm run -s herald -- export --out "$EXPORTS/attempts" --table attempts --format csv --split day',
  'npm run -s herald -- backup DIR': 'npm run -s herald -- backup "$DIR"',
  'npm run -s herald -- restore DIR --pending send|hold|cancel':
    'DATA_DIR="$RESTORED" npm run -s herald -- restore "$DIR" --pending hold',
};
/** What stands for something of the reader's own within a command. */
const examples: Readonly<Record<string, string>> = { '<auth token>': 'auth-token', 'AC...': `AC${'0'.repeat(32)}` };
/** Of Herald's commands, those for a DATA_DIR that no service holds. */
const whileStopped = /herald -- (?:reconcile|rebuild|compact|adopt|restore|dead-letters)\b/;
/** A list of commands is no command. */
const isList = (text: string) => /herald -- [a-z-]+\|/.test(text);

const all = documentedCommands().filter(({ text }) => !isList(text));
const ran = [...new Set(all.map(({ text }) => text))].filter(
  (text) => elsewhere[text] === undefined && notRun[text] === undefined,
);

/** One takes the other's place: rotate-secrets is for that time. */
const secrets = { ENCRYPTION_SECRET: 'n'.repeat(32), ENCRYPTION_SECRET_PREVIOUS: 'p'.repeat(32) };

let dataDir: DataDir;
let restored: DataDir;
let folder: string;
let sent: string;
let batch: string;
let job: string;
let sink: HttpSink;
let service: Herald;

beforeAll(async () => {
  sink = await startHttpSink();
  [dataDir, restored] = [await makeDataDir('embedded'), await makeDataDir('embedded')];
  folder = await mkdtemp(join(tmpdir(), 'herald-documents-'));
  // What a curl is refused is a failure.
  await writeFile(join(folder, '.curlrc'), 'fail-with-body\n');
  const stay = { resend: sink.url, twilio: sink.url };
  service = await startHerald(dataDir, { ...secrets, PROVIDER_URLS: JSON.stringify(stay) });
  const { body } = await service.notify({ channel: 'IN_APP', recipient: 'grace', body: 'Before all' });
  sent = String(body['notificationId']);
  const headers = { 'x-api-key': service.apiKey };
  const notifications = [{ channel: 'IN_APP', recipient: 'grace', body: 'One of many' }];
  const taken = await service.call('POST', '/api/v1/notify/batch', { headers, body: { notifications } });
  batch = String(taken.body['batchId']);
  const asked = await service.call('POST', `/api/v1/notify/batch/${batch}/cancel`, { headers });
  job = String(asked.body['jobId']);
}, 60_000);

afterAll(async () => {
  await service?.stop();
  await sink?.close();
  for (const one of [dataDir, restored]) await one?.remove();
  await rm(folder, { recursive: true, force: true });
});

/** As they are written, with this service's address and key. */
async function shell(commands: readonly string[]) {
  const { body } = await service.dashboard('GET', '/tenant').catch(() => ({ body: {} as Record<string, unknown> }));
  const environment = processEnvironment({
    ...dataDir.environment,
    ...secrets,
    HOME: folder,
    CURL_HOME: folder,
    PORT: new URL(service.url).port,
    SENT: sent,
    ID: String(body['id']),
    DIR: join(folder, 'backup'),
    EXPORTS: join(folder, 'exports'),
    RESTORED: restored.path,
  });
  const here = {
    ...examples,
    'http://127.0.0.1:3000': service.url,
    'nk_...': service.apiKey,
    'batch_...': batch,
    'job_...': job,
  };
  const typed = commands.map((text) =>
    Object.entries(here).reduce((made, [said, meant]) => made.replaceAll(said, meant), chosen[text] ?? text),
  );
  return runInShell(typed, { cwd: root, environment });
}

describe('the commands of the documents', () => {
  it('that are not run here are known, run by something that is there or said not to be, and still documented', () => {
    const texts = new Set(all.map(({ text }) => text));
    expect([elsewhere, notRun, chosen].flatMap(Object.keys).filter((text) => !texts.has(text))).toEqual([]);
    expect(Object.values(elsewhere).filter((path) => !existsSync(join(root, path)))).toEqual([]);
    // Whatever is new is run here: as long as it is of a kind that can be.
    expect(ran.filter((text) => !/^(?:curl |printf |npm run -s herald -- |[A-Z]+=)/.test(text))).toEqual([]);
  });

  it('do what they say while a service runs', async () => {
    const outcomes = await shell(ran.filter((text) => !whileStopped.test(text)));
    expect(outcomes.filter(({ code }) => code !== 0)).toEqual([]);
    const said = outcomes.map(({ stdout }) => stdout);
    expect(said[1]).toContain('"Your first notification"');
    expect(outcomes.length).toBeGreaterThan(15);
  }, 240_000);

  it('do what they say while none runs', async () => {
    await service.stop();
    const outcomes = await shell(ran.filter((text) => whileStopped.test(text)));
    expect(outcomes.filter(({ code }) => code !== 0)).toEqual([]);
    expect(outcomes.length).toBeGreaterThanOrEqual(4);
  }, 240_000);
});

describe('the help', () => {
  it('names the commands that the README names, and has every option that the documents mention', async () => {
    const { stdout: usage } = await herald(['--help'], {});
    const sections = [...usage.matchAll(/^ {2}([a-z][a-z-]*)(.*(?:\n {4,}.*)*)/gm)];
    const [, listed = ''] = /herald -- ([a-z-]+(?:\|[a-z-]+){5,})/.exec(textOf('README.md')) ?? [];
    expect(listed.split('|').toSorted()).toEqual(sections.map(([, name = '']) => name).toSorted());
    const helps = new Map<string, string>();
    for (const [, name = '', section = ''] of sections) {
      const { code, stdout } = await herald([name, '--help'], {});
      expect([name, code, stdout]).toEqual([name, 0, expect.stringContaining(`${name} `)]);
      // Some have a help of their own.
      helps.set(name, stdout === usage ? section : stdout);
    }
    const unknown = mentions([...helps.keys()]).filter(({ name, args }) => {
      const options = [...args.matchAll(/--[a-z-]+/g)].map(([option]) => option);
      return !options.every((option) => helps.get(name)?.includes(option) === true);
    });
    expect(unknown).toEqual([]);
  });
});

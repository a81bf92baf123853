// docker-compose.yml and the Dockerfile, which no test here can run: they parse, pin what they name, and agree with the program.

import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';

import { parseDocument } from 'yaml';

import { allRoles, describeConfig } from '../../src/main/config.ts';

interface Service {
  readonly image: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, unknown>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

const fileOf = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
const packageJson = JSON.parse(fileOf('package.json')) as {
  version: string;
  scripts: Record<string, string>;
  optionalDependencies: Record<string, string>;
};
const settings = new Map(describeConfig({}).map(({ name, fallback }) => [name, fallback]));
/** A version with a dot in it, not `latest`, not a major alone. */
const pinned = /^[\w./-]+:v?\d+\.\d+[\w.-]*$/;

describe('docker-compose.yml', () => {
  const document = parseDocument(fileOf('docker-compose.yml'), { merge: true });
  const { services, volumes } = document.toJS() as {
    services: Record<string, Service>;
    volumes: Record<string, unknown>;
  };
  const all = Object.entries(services);
  const ofHerald = all.filter(([, { build }]) => build !== undefined);

  it('is YAML without errors or warnings', () => {
    expect([...document.errors, ...document.warnings]).toEqual([]);
  });

  it('pins every image', () => {
    expect(all.filter(([, { image }]) => !pinned.test(image))).toEqual([]);
    expect(new Set(ofHerald.map(([, { image }]) => image))).toEqual(new Set([`herald:${packageJson.version}`]));
  });

  it('has a service for every role, which serves that role', () => {
    expect(ofHerald.map(([name]) => name).sort()).toEqual([...allRoles].sort());
    for (const [name, { command }] of ofHerald) expect(command).toEqual(['serve', '--role', name]);
  });

  it("sets Herald's settings by their names, the cluster's all of them", () => {
    for (const [, { environment = {} }] of ofHerald) {
      expect(Object.keys(environment).filter((name) => !settings.has(name))).toEqual([]);
      expect(Object.keys(environment)).toEqual(
        expect.arrayContaining(['KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL', 'MONGODB_URL', 'REDIS_URL']),
      );
    }
  });

  it("asks each Herald whether it is ready, on its operations port, and publishes the API's port on loopback", () => {
    const ready = `http://127.0.0.1:${settings.get('OPS_PORT')}/health/ready`;
    for (const [, { healthcheck }] of ofHerald) expect(healthcheck?.test.join(' ')).toContain(ready);
    const port = settings.get('PORT');
    expect(services['api']?.ports).toEqual([`127.0.0.1:${port}:${port}`]);
  });

  it('waits only for services that there are, and for their health only where it is asked', () => {
    for (const [, { depends_on = {} }] of all)
      for (const [name, { condition }] of Object.entries(depends_on)) {
        expect(Object.keys(services)).toContain(name);
        if (condition === 'service_healthy') expect(services[name]?.healthcheck).toBeDefined();
      }
  });

  it('keeps what must last in volumes that it declares', () => {
    for (const name of [...allRoles, 'kafka', 'mongodb']) expect(services[name]?.volumes).toHaveLength(1);
    const mounted = all.flatMap(([, { volumes = [] }]) => volumes.map((mount) => mount.split(':')[0] ?? ''));
    expect([...new Set(mounted)].sort()).toEqual(Object.keys(volumes).sort());
  });
});

describe('the Dockerfile', () => {
  const instructions = fileOf('Dockerfile')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => /^[A-Z]/.test(line))
    .map((line) => {
      const [name = '', ...rest] = line.split(/\s+/);
      return { name, text: rest.join(' ') };
    });
  const last = instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'));
  const textOf = (wanted: string) => last.find(({ name }) => name === wanted)?.text ?? '';

  it('builds every stage on the Node that package.json brings along, by its exact version', () => {
    const images = instructions.filter(({ name }) => name === 'FROM').map(({ text }) => text.split(' ')[0]);
    expect(images).toHaveLength(3);
    const [node] = new Set(Object.values(packageJson.optionalDependencies));
    expect(new Set(images)).toEqual(new Set([`node:${node}-bookworm-slim`]));
  });

  it('installs in stages before the last, from the lockfile, and leaves no package manager in that', () => {
    expect(last.filter(({ text }) => /npm (ci|install)|apt-get|curl|wget/.test(text))).toEqual([]);
    expect(instructions.some(({ text }) => text.startsWith('npm ci --omit=dev'))).toBe(true);
    expect(textOf('RUN')).toContain('rm -rf /usr/local/lib/node_modules');
  });

  it('runs as a user without rights', () => {
    expect(textOf('USER')).toBe('node');
    const after = last.slice(last.findIndex(({ name }) => name === 'USER')).map(({ name }) => name);
    expect(after).not.toContain('RUN');
    expect(after).not.toContain('COPY');
  });

  it('starts what the herald script starts, as process 1, so that it gets the SIGTERM', () => {
    expect(`exec ${(JSON.parse(textOf('ENTRYPOINT')) as string[]).join(' ')}`).toBe(packageJson.scripts['herald']);
    expect(JSON.parse(textOf('CMD'))).toEqual(['serve']);
    expect(textOf('STOPSIGNAL')).toBe('SIGTERM');
  });

  it('has a health check and settings that Herald knows', () => {
    const [, check = ''] = textOf('HEALTHCHECK').split(' CMD ');
    expect(JSON.parse(check)).toEqual(['node', '-e', expect.stringContaining('/health/ready')]);
    const names = [...textOf('ENV').matchAll(/(\w+)=/g)].map(([, name = '']) => name);
    expect(names.filter((name) => !settings.has(name))).toEqual([]);
  });

  it('copies only what .dockerignore lets through, and .dockerignore nothing else', () => {
    const [first, ...allowed] = fileOf('.dockerignore')
      .split('\n')
      .filter((line) => /^[^#\s]/.test(line));
    expect(first).toBe('*');
    const copied = instructions
      .filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from'))
      .flatMap(({ text }) => text.split(' ').slice(0, -1));
    expect([...new Set(copied)].sort()).toEqual(allowed.map((line) => line.slice(1)).sort());
  });
});

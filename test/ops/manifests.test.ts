// The manifests of ops/: every role is there, its settings exist, and it is given the time that a stop takes.

import { readFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';

import { allRoles, describeConfig, readConfig } from '../../src/main/config.ts';

const fileOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const { version } = JSON.parse(fileOf('package.json')) as { version: string };
const known = describeConfig({}).map(({ name }) => name);
/** What is in flight has 30 s; some for the rest. */
const stopSeconds = 40;
/** What no file holds, and whoever installs it gives. */
const given: Readonly<Record<string, string>> = {
  ENCRYPTION_SECRET: 'a-secret-of-production-with-32-and-more',
  KAFKA_SASL_PASSWORD: 'password-of-herald',
  MONGODB_URL: 'mongodb://mongodb:27017/herald?replicaSet=rs0',
  REDIS_URL: 'redis://redis:6379',
  AUTH_JWKS_URL: 'https://identity.example/.well-known/jwks.json',
  AUTH_ISSUER: 'https://identity.example/',
  AUTH_AUDIENCE: 'herald',
};
const givenOf = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, given[name] ?? `${name} isn't known to this test`]));

describe('the Kubernetes manifests', () => {
  // Tests read a manifest field by field.
  // oxlint-disable-next-line typescript/no-explicit-any
  const all: readonly any[] = parseAllDocuments(fileOf('ops/kubernetes/herald.yaml')).map((one) => one.toJS());
  const deployments = all.filter(({ kind }) => kind === 'Deployment');

  it('start as they are written, with the secret that they ask for', () => {
    const { data } = all.find(({ kind }) => kind === 'ConfigMap');
    const asked = [...fileOf('ops/kubernetes/herald.yaml').matchAll(/--from-literal=(\w+)=/g)].map(
      ([, name = '']) => name,
    );
    expect(asked.length).toBeGreaterThan(0);
    expect(readConfig({ ...data, ...givenOf(asked) })).toMatchObject({
      isProduction: true,
      KAFKA_SASL_PASSWORD: given['KAFKA_SASL_PASSWORD'],
    });
  });

  it('run each role by itself, with settings that there are', () => {
    const runs = deployments.map(({ spec }): string => spec.template.spec.containers[0].args.join(' '));
    expect(new Set(runs)).toEqual(new Set(allRoles.map((role) => `serve --role ${role}`)));
    const settings = Object.keys(all.find(({ kind }) => kind === 'ConfigMap').data);
    expect(settings.filter((name) => name !== 'NODE_ENV' && !known.includes(name))).toEqual([]);
  });

  it('let who routes learn of a stop before the port closes, and the rest end after it', () => {
    for (const { spec } of deployments) {
      const { containers, terminationGracePeriodSeconds } = spec.template.spec;
      const [, seconds] = containers[0].lifecycle.preStop.exec.command;
      expect(Number(seconds)).toBeGreaterThanOrEqual(containers[0].readinessProbe.periodSeconds);
      expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(Number(seconds) + stopSeconds);
      expect(containers[0].image).toMatch(new RegExp(`:${version.replaceAll('.', '\\.')}$`));
    }
  });
});

describe('the systemd unit', () => {
  it('starts with what it sets and asks for, and gives a stop its time', () => {
    const unit = fileOf('ops/systemd/herald.service');
    const settings = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, pairs = '']) => pairs.split(' '));
    const names = settings.map((pair) => pair.split('=')[0] ?? '');
    expect(names.filter((name) => name !== 'NODE_ENV' && !known.includes(name))).toEqual([]);
    const values = Object.fromEntries(settings.map((pair) => pair.split('=') as [string, string]));
    const [, required = ''] = /^# (.*): required in production$/m.exec(unit) ?? [];
    expect(readConfig({ ...values, ...givenOf(required.split(', ')) }).isProduction).toBe(true);
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThanOrEqual(stopSeconds);
  });
});

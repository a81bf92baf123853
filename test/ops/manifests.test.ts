// The manifests of ops/: every role is there, its settings exist, and it is given the time that a stop takes.

import { readFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';

import { allRoles, describeConfig } from '../../src/main/config.ts';

const fileOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const { version } = JSON.parse(fileOf('package.json')) as { version: string };
const known = describeConfig({}).map(({ name }) => name);
/** What is in flight has 30 s; some for the rest. */
const stopSeconds = 40;

describe('the Kubernetes manifests', () => {
  // Tests read a manifest field by field.
  // oxlint-disable-next-line typescript/no-explicit-any
  const all: readonly any[] = parseAllDocuments(fileOf('ops/kubernetes/herald.yaml')).map((one) => one.toJS());
  const deployments = all.filter(({ kind }) => kind === 'Deployment');

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
  it('sets what there is, and gives a stop its time', () => {
    const unit = fileOf('ops/systemd/herald.service');
    const settings = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, pairs = '']) => pairs.split(' '));
    const names = settings.map((pair) => pair.split('=')[0] ?? '');
    expect(names.filter((name) => name !== 'NODE_ENV' && !known.includes(name))).toEqual([]);
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThanOrEqual(stopSeconds);
  });
});

// What a look-back works with: settings that are read and never written, and a log that takes nothing.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { openSettingsBeside, openSettingsStore } from '../../src/adapters/sqlite/settings/store.ts';
import { jobIdOf, type TenantId } from '../../src/domain/ids.ts';
import type { LogBeside } from '../../src/lookback/cut-log.ts';
import { refusing } from '../../src/lookback/refusing.ts';
import { settingsToLookAt } from '../../src/lookback/settings.ts';
import { storedKey, storedTenant } from '../contracts/settings-store.ts';

const refused = () => new Error('only shows');
const tenantId = 'tnt_a' as TenantId;

describe('settings to look at', () => {
  it('give what the running service has just written, and refuse or let go of every write', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'herald-looked-at-'));
    const path = join(folder, 'settings.db');
    const service = openSettingsStore({ path });
    const looked = settingsToLookAt(openSettingsBeside({ path }), refused);
    try {
      await service.createTenant(storedTenant(), storedKey());
      const before = await service.changesSince(1);
      expect((await looked.settings(tenantId))?.tenant.id).toBe(tenantId);
      expect(await looked.keepMark('log', 'another')).toBe('another');
      await looked.noteKeyUses([]);
      await expect(looked.setShare(tenantId, { weight: 9, inFlightMax: null })).rejects.toThrow('only shows');
      await expect(looked.replaceMark('log', 'another')).rejects.toThrow('only shows');
      expect(await service.mark('log')).toBeNull();
      expect(await service.changesSince(1)).toEqual(before);
    } finally {
      await looked.close();
      await service.close();
      rmSync(folder, { recursive: true });
    }
  });

  it('are of a file that refuses by itself what would come past that', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'herald-looked-at-'));
    const path = join(folder, 'settings.db');
    await openSettingsStore({ path }).close();
    const beside = openSettingsBeside({ path });
    try {
      await expect(beside.replaceMark('log', 'another')).rejects.toThrow('readonly');
    } finally {
      await beside.close();
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a log to look at', () => {
  it('takes nothing, and joins no group', async () => {
    const log: LogBeside = {
      id: 'log',
      partitioning: { partitions: 2, shards: 1 },
      ends: async () => [0, 0],
      async *read() {
        yield* [];
      },
      offsetAt: async () => 0,
    };
    const { log: looked, jobs } = refusing(log, { find: async () => null }, refused);
    expect(await looked.appendAll([])).toEqual([]);
    const consumer = looked.consume({ group: 'g', topics: [], owned: () => undefined, lost: () => undefined });
    await expect(consumer).rejects.toThrow('only shows');
    await expect(jobs.claim(1, 2)).rejects.toThrow('only shows');
    expect(await jobs.find(tenantId, jobIdOf(new Uint8Array(16)))).toBeNull();
  });
});

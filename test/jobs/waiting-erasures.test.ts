// Erasures of tenants that wait for a read model which stands still, beside other tenants' jobs: however many wait, the few places are for those that can come on.

import { afterEach, beforeEach, it } from '@jest/globals';

import { startTenantErasure } from '../../src/commands/erase-tenant.ts';
import { startJob } from '../../src/commands/start-job.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { noTrace } from '../../src/domain/trace-context.ts';
import type { JobRunner } from '../../src/jobs/runner.ts';
import { runJobs } from '../../src/jobs/runner.ts';
import { searchReadModel } from '../../src/projections/search/index.ts';
import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { until } from '../support/until.ts';

const erasures = 8;
const other = 'tnt_other' as TenantId;
/** A job's waits are seconds: so many of them are one here. */
const faster = 40;

let app: App;
let runner: JobRunner | null = null;

beforeEach(async () => {
  app = await startApp({ runsJobs: false, delivers: false });
});
afterEach(async () => {
  await runner?.stop();
  await app.close();
});

it(`beside ${erasures} of them another tenant's job has its turn`, async () => {
  const { reader, jobs } = app.deps;
  const [beganAt, began] = [app.deps.clock.now(), app.deps.clock.monotonic()];
  const clock: App['deps']['clock'] = {
    ...app.deps.clock,
    now: () => beganAt + (app.deps.clock.now() - beganAt) * faster,
    monotonic: () => began + (app.deps.clock.monotonic() - began) * faster,
    sleep: (ms, signal) => app.deps.clock.sleep(ms / faster, signal),
  };
  const { name } = searchReadModel.definition;
  const behind: typeof reader = {
    ...reader,
    positions: (of, partition) => (of === name ? Promise.resolve(new Map()) : reader.positions(of, partition)),
  };
  const deps = { ...app.deps, clock };
  const erased = Array.from({ length: erasures }, (_, i) => `tnt_erased_${i}` as TenantId);
  for (const tenantId of erased) await startTenantErasure(deps)(tenantId, 0);
  runner = runJobs({ ...deps, commands: app.commands, bytes: app.bytes, reader: behind });
  const waits = async () => {
    const found = await Promise.all(erased.map(async (tenantId) => (await jobs.listOpen(tenantId))[0]));
    return found.every((job) => job?.mark.next.kind === 'log' && job.mark.next.awaited !== undefined);
  };
  await until(waits, { timeoutMs: 60_000, what: 'all to wait for the read model' });
  const filter = { batchId: 'batch_1' };
  const id = await startJob(deps)({
    tenantId: other,
    kind: 'retry',
    filter,
    ratePerSecond: 100,
    total: 0,
    trace: noTrace,
  });
  const isOver = async () => (await jobs.find(other, id))?.endedAt !== null;
  await until(isOver, { timeoutMs: 30_000, what: 'the job of another tenant' });
}, 120_000);

// herald reconcile: the log against itself and against the read models; with --repair what was accepted and nobody will see to is taken up again.

import { createCodec } from '../codec/index.ts';
import { dispatcherGroup } from '../dispatchers/dispatcher.ts';
import { channels, priorities } from '../domain/events.ts';
import { workTopic } from '../domain/topics.ts';
import type { Topic } from '../domain/topics.ts';
import { readModels } from '../projections/index.ts';
import { createServingReader } from '../projections/serving-reader.ts';
import type { Cell, Figures } from '../reconcile/account.ts';
import type { Gap } from '../reconcile/reconcile.ts';
import { reconcile } from '../reconcile/reconcile.ts';
import { takeUpAgain } from '../reconcile/repair.ts';
import type { Config } from './config.ts';
import { openLogBesideViews } from './engines.ts';
import { patientLog } from './patient-log.ts';
import { createProcess } from './process.ts';
import { createProgress } from './progress.ts';

export interface ReconcileOptions {
  readonly repairs: boolean;
  readonly youngerThanMs: number;
  /** Every hour of every tenant, not only those with something that waits or is missing. */
  readonly showsAll: boolean;
}

/** Answers whether there was no gap. @throws StartError while the service runs (embedded) */
export async function reconcileLog(config: Config, options: ReconcileOptions): Promise<boolean> {
  const parts = createProcess(config);
  const { clock } = parts;
  const { signal } = new AbortController();
  const { log, reader, close } = await openLogBesideViews({ ...parts, config, codec: createCodec(), signal });
  const progress = createProgress('reconcile');
  let taken = 0;
  const onGap = async (gap: Gap): Promise<void> => {
    process.stdout.write(`${gap.kind}: ${gap.notificationId} of ${gap.tenantId}: ${gap.why}\n`);
    if (!options.repairs || gap.since === null) return;
    await takeUpAgain({ log, now: clock.now() }, gap.since);
    taken++;
  };
  try {
    const { youngerThanMs } = options;
    const asked = {
      log: { ...log, ...patientLog(log, parts) },
      reader: createServingReader({ log, reader, readModels, clock }),
      groupOf,
      clock,
      youngerThanMs,
      onGap,
      onProgress: progress.update,
    };
    const { events, account } = await reconcile(asked);
    progress.end(`${events} events read`);
    const total = account.total();
    process.stdout.write(
      tableOf(
        account.cells().filter((cell) => options.showsAll || isOfNote(cell)),
        total,
      ),
    );
    if (options.repairs) process.stdout.write(`taken up again: ${taken}\n`);
    return total.lost === 0 && total.unseen === 0;
  } finally {
    await close();
    parts.logger.flush();
  }
}

const groupOfTopic = new Map<Topic, string>(
  channels.flatMap((channel) =>
    priorities.map((priority) => [workTopic(channel, priority), dispatcherGroup(channel)] as const),
  ),
);

function groupOf(topic: Topic): string {
  const group = groupOfTopic.get(topic);
  if (group === undefined) throw new Error(`no dispatcher reads ${topic}`);
  return group;
}

function isOfNote({ waiting, lost, unseen }: Figures): boolean {
  return waiting > 0 || lost > 0 || unseen > 0;
}

const columns = ['accepted', 'ended', 'waiting', 'lost', 'unseen'] as const;
const columnWidth = 10;

function tableOf(cells: readonly Cell[], total: Figures): string {
  const row = (tenant: string, hour: string, figures: readonly (string | number)[]) =>
    `${tenant.padEnd(32)}${hour.padEnd(18)}${figures.map((figure) => String(figure).padStart(columnWidth)).join('')}\n`;
  const figuresOf = (of: Figures) => columns.map((column) => of[column]);
  return [
    row('tenant', 'hour (UTC)', columns),
    ...cells.map((cell) => row(cell.tenantId, new Date(cell.hour).toISOString().slice(0, 16), figuresOf(cell))),
    row('all', '', figuresOf(total)),
  ].join('');
}

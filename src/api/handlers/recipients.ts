// A recipient erased: a job, and what it would begin with before the answer, so that nothing is shown any more when that comes.

import type { Commands } from '../../commands/index.ts';
import { badField } from '../../domain/errors.ts';
import type { Channel } from '../../domain/events.ts';
import { channels } from '../../domain/events.ts';
import { jobRateMax } from '../../domain/job.ts';
import { statuses } from '../../domain/notification.ts';
import { traceContextOf } from '../../domain/trace-context.ts';
import { comparedRecipient } from '../../domain/suppression.ts';
import { isOf } from '../../commands/start-erasure.ts';
import type { Position } from '../../ports/event-log.ts';
import type { Outbound } from '../../ports/outbound.ts';
import type { FieldValue, ReadModelReader } from '../../ports/read-model-store.ts';
import { readModels } from '../../projections/index.ts';
import { notificationsReadModel } from '../../projections/notifications/index.ts';
import { listNotifications, pageOfStatuses } from '../../projections/notifications/queries.ts';
import { endpoint } from '../endpoint.ts';
import type { OwnWrites } from '../own-writes.ts';
import { recipientProblem } from '../recipients.ts';
import type { Waits } from '../waits.ts';
import { jobTaken } from './jobs.ts';

type Page = Awaited<ReturnType<typeof pageOfStatuses>>;

interface Dependencies {
  readonly commands: Pick<Commands, 'startErasure' | 'eraseRecords' | 'eraseSuppression'>;
  readonly reader: ReadModelReader;
  readonly outbound: Pick<Outbound, 'problemWithUrl'>;
  readonly ownWrites: Pick<OwnWrites, 'follow' | 'noteAll'>;
  readonly waits: Pick<Waits, 'forPosition'>;
}

/** The newest, before it answers, in pages of 1 MiB at most; the job comes to the others. */
const atOnceMax = 500;
const pageMax = 100;
/** So long it waits until no read model shows them: a second at most, where nothing stands still. */
const hiddenWaitMs = 5000;

export function createRecipientHandlers({ commands, reader, outbound, ownWrites, waits }: Dependencies) {
  const erase = endpoint('bearer', {
    awaits: ({ tenant }) => ownWrites.follow(tenant.id, [notificationsReadModel]),
    async handle({ tenant, person }, { params, headers }) {
      const channel = channelOf(params['channel'] ?? '');
      const given = params['recipient'] ?? '';
      const problem = recipientProblem(channel, given, outbound);
      if (problem !== null) throw badField('recipient', problem);
      const recipient = comparedRecipient(channel, given);
      const { total } = await listNotifications(reader, tenant.id, { channel, recipient }, { limit: 1 });
      const of = { tenantId: tenant.id, actor: person.actor };
      const trace = traceContextOf(headers);
      const asked = { ...of, channel, recipient, total, ratePerSecond: jobRateMax, trace };
      const id = await commands.startErasure(asked);
      await commands.eraseSuppression({ ...of, channel, recipient });
      const positions: Position[] = [];
      let next: readonly FieldValue[] | null = null;
      for (let erased = 0; erased === 0 || (next !== null && erased < atOnceMax); erased += pageMax) {
        const place = { limit: pageMax, ...(next === null ? {} : { after: next }) };
        const page: Page = await pageOfStatuses(reader, tenant.id, { channel, recipient }, statuses, place);
        const records = page.records.filter((record) => isOf({ channel, recipient }, record));
        positions.push(...(await commands.eraseRecords({ ...of, records, traceparent: trace.traceparent })));
        ({ next } = page);
      }
      ownWrites.noteAll(tenant.id, positions);
      const hidden = readModels.flatMap((readModel) =>
        positions.map((position) =>
          waits.forPosition(readModel, { ...position, tenantId: tenant.id }, hiddenWaitMs, 'written'),
        ),
      );
      await Promise.all(hidden);
      return jobTaken(id);
    },
  });

  return { erase };
}

function channelOf(text: string): Channel {
  const channel = channels.find((one) => one === text.toUpperCase().replace('-', '_'));
  if (channel === undefined) throw badField('channel', `must be one of ${channels.join(', ')}`);
  return channel;
}

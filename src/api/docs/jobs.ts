// Jobs, documented.

import { z } from 'zod';

import { jobKinds, jobRateMax, jobStates, openJobsMax, retryRateDefault } from '../../domain/job.ts';
import * as examples from './examples.ts';
import type { OperationDocs, ParamDocs } from './operation.ts';
import { answers } from './operation.ts';
import { batchParam, channelParam } from './params.ts';
import { count, text, timestamp } from './shapes.ts';

const area = 'Jobs';
const jobId = text.meta({ pattern: '^job_[0-9a-z]{26}$' });
const exampleId = 'job_01kax9t3v2f8h5m7q0r1s4w6yz';
const params: Readonly<Record<string, ParamDocs>> = {
  id: {
    description: 'The job’s id. One of another tenant reads as one that does not exist.',
    example: exampleId,
    schema: { type: 'string' },
  },
};
const noSuch = 'There is no such job.';
const full = `A tenant has at most ${openJobsMax} jobs that are not over: wait for one, or stop one.`;
const ofTenant = `Of a tenant’s jobs one runs at a time, and ${openJobsMax} may be open.`;

/** Receivers that have seen the former one take what is sent again. */
const newWebhookId = 'A webhook’s `webhook-id` has the round behind it then (`notif_x.2`).';

const started = answers(
  z.object({ jobId }),
  { jobId: exampleId },
  { status: 202, description: 'The job is taken on.', isPlaced: true },
);
const leadsTo = { getJob: { id: 'jobId' }, stopJob: { id: 'jobId' } };

const job = z
  .object({
    id: jobId,
    kind: z.enum(jobKinds),
    state: z
      .enum(jobStates)
      .describe('`failed`: it could not come on for a day. What was done by then stays done, also in `stopped`.'),
    total: count.describe('How many there were when it was asked for, or at least.'),
    done: count.describe('Sent again, cancelled or erased. The page in hand is counted with the next one.'),
    skipped: count.describe('It was too late for it, or it may not be done (expired, sent 100 times).'),
    failed: count.describe('Whether they are cancelled was not decided within some seconds: look at them.'),
    startedAt: timestamp.nullable(),
    endedAt: timestamp.nullable(),
  })
  .meta({ id: 'Job', description: 'Long work, and how far it is.' });
const example: z.input<typeof job> = {
  id: exampleId,
  kind: 'retry',
  state: 'running',
  total: 120,
  done: 100,
  skipped: 0,
  failed: 0,
  startedAt: examples.createdAt,
  endedAt: null,
};

const ofOthers = 'What the keys of its items had made before belongs to the batches that their results name.';

const cancelBatch: OperationDocs = {
  id: 'cancelBatch',
  area,
  summary: 'Cancel what of a batch still waits',
  description: `Those that are SCHEDULED or RETRYING when the job comes to them, ${jobRateMax} a second. Asked again it does nothing twice. ${ofOthers} ${ofTenant}`,
  params: { id: batchParam },
  answer: started,
  refusals: { NOT_FOUND: 'There is no such batch.', CONFLICT: full },
  leadsTo,
};

const retryBatch: OperationDocs = {
  id: 'retryBatch',
  area,
  summary: 'Send again what of a batch has failed',
  description: `Those that are FAILED when the job comes to them, each once, ${retryRateDefault} a second, with their own priorities. ${ofOthers} ${newWebhookId} ${ofTenant}`,
  params: { id: batchParam },
  answer: started,
  refusals: { NOT_FOUND: 'There is no such batch.', CONFLICT: full },
  leadsTo,
};

const retryMany: OperationDocs = {
  id: 'retryNotifications',
  area,
  summary: 'Send again what has failed',
  description: `Those that the filter finds when the job comes to them, each once, the newest first, ${retryRateDefault} a second unless \`ratePerSecond\` says otherwise, with their own priorities. An empty filter finds all that are FAILED. What is requested later isn’t meant. ${newWebhookId} ${ofTenant}`,
  requests: {
    'Of two hours, slowly': {
      filter: { channel: 'EMAIL', from: '2027-01-31T14:00:00Z', to: '2027-01-31T16:00:00Z' },
      ratePerSecond: 10,
    },
    'What failed at a provider within twenty minutes': {
      filter: { provider: 'smtp', failedFrom: '2027-01-31T14:00:00Z', failedTo: '2027-01-31T14:20:00Z' },
    },
    'How many there are': { filter: { template: 'welcome', metadata: { order: '17' } }, dryRun: true },
  },
  answer: answers(
    z.object({
      jobId: jobId.nullable().describe('null: it was a dry run.'),
      matching: count.describe('How many there are now.'),
      matchingIsExact: z.boolean().describe('false: there are at least so many.'),
    }),
    { jobId: exampleId, matching: 120, matchingIsExact: true },
    { status: 202, description: 'The job is taken on, or its notifications are counted.', isPlaced: true },
  ),
  refusals: { CONFLICT: full, BAD_REQUEST: 'filter: is required' },
  leadsTo,
};

const eraseRecipient: OperationDocs = {
  id: 'eraseRecipient',
  area,
  summary: 'Erase a recipient',
  description: `Of everything that was requested for it by now nothing is left but that there was something: no list, search, stream or export shows its address, subjects, bodies, data, metadata, inbox items, provider reports or its place on the suppression list, and statistics stay as they are. What waits to be sent ends CANCELLED; what is being sent at this moment may arrive. When the answer comes the newest 500 show nothing any more; the job goes on with the others, 500 a second, and with the bytes of the log. What is requested later is a new fact. Records of it stay, without \`recipient\` and content, and can't be sent again. Copies of mails to others aren't looked for. ${ofTenant}`,
  params: {
    channel: channelParam,
    recipient: {
      description: 'As notifications were sent to it; of email addresses upper and lower case are the same.',
      example: 'ada@example.com',
      schema: { type: 'string', minLength: 1 },
    },
  },
  answer: started,
  refusals: { CONFLICT: full, BAD_REQUEST: 'recipient: must be an email address' },
  leadsTo,
};

const show: OperationDocs = {
  id: 'getJob',
  area,
  summary: 'How far a job is',
  description: 'Of those that are over the newest 500 are kept, for 7 days.',
  params,
  answer: answers(job, example, { description: 'The job.' }),
  refusals: { NOT_FOUND: noSuch },
};

const stop: OperationDocs = {
  id: 'stopJob',
  area,
  summary: 'Stop a job',
  description:
    'It ends once what it has in hand is finished, which is waited for, 2 s at most. One that is over stays as it is.',
  params,
  answer: answers(job, { ...example, state: 'stopped', endedAt: examples.createdAt }, { description: 'The job.' }),
  refusals: { NOT_FOUND: noSuch },
};

export const jobDocs = { cancelBatch, retryBatch, retryMany, eraseRecipient, show, stop };

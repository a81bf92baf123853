// The job of Herald as it is mostly written by hand: Express takes a notification and puts a job into BullMQ, whose worker in the same process signs and
// posts the webhook, with retries. No tenants, no shares, no history, no search.
// In JavaScript, since its packages are in this folder alone, where the types of the other sources aren't looked for.

import { createHmac, randomBytes } from 'node:crypto';

import { Queue, Worker } from 'bullmq';
import express from 'express';
import { Agent, request } from 'undici';

const connection = { host: '127.0.0.1', port: Number(process.env.REDIS_PORT) };
/** As many as Herald has in flight to webhooks of a tenant and more. */
const concurrency = 64;
const deadlineMs = 15_000;
const key = randomBytes(32);
/** A failed job is tried again like Herald's; the last of the done ones are kept, for somebody to look at. */
const jobOptions = {
  attempts: 8,
  backoff: { type: 'exponential', delay: 1000 },
  removeOnComplete: 1000,
  removeOnFail: 1000,
};

const queue = new Queue('webhooks', { connection, defaultJobOptions: jobOptions });
const agent = new Agent({
  connections: concurrency,
  pipelining: 1,
  bodyTimeout: deadlineMs,
  headersTimeout: deadlineMs,
});

const worker = new Worker('webhooks', async ({ id, data }) => deliver(id, data), { connection, concurrency });
worker.on('error', (error) => console.error('peer:', error));
worker.on('failed', (job, error) => console.error('peer: a job failed', job?.id, error));

const app = express();
app.use(express.json({ limit: '1mb' }));
app.post('/api/v1/notify', (req, res, next) => {
  if (req.get('x-api-key') === undefined) res.status(401).json({ error: 'no key' });
  else if (!isWebhook(req.body)) res.status(400).json({ error: 'no webhook' });
  else accept(req.body).then((id) => res.status(202).json({ notificationId: id, status: 'queued' }), next);
});

await worker.waitUntilReady();
const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));

// Without its parent it has nothing to do.
process.on('disconnect', () => process.exit());

function isWebhook({ channel, recipient, body }) {
  return channel === 'WEBHOOK' && URL.canParse(recipient) && typeof body === 'string';
}

async function accept({ recipient, subject, body, data }) {
  const jobId = `notif_${randomBytes(16).toString('hex')}`;
  const job = { recipient, subject: render(subject, data), body: render(body, data), data };
  await queue.add('webhook', job, { jobId });
  return jobId;
}

function render(template, data) {
  return template.replaceAll(/\{\{ (\w+) \}\}/g, (_, name) => String(data[name] ?? ''));
}

async function deliver(id, { recipient, subject, body, data }) {
  const content = JSON.stringify({ id, subject, body, data });
  const timestamp = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${content}`).digest('base64');
  const answer = await request(recipient, {
    method: 'POST',
    dispatcher: agent,
    body: content,
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${signature}`,
    },
  });
  await answer.body.dump();
  if (answer.statusCode < 200 || answer.statusCode > 299) throw new Error(`answered with ${answer.statusCode}`);
}

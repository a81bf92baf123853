// herald listen: a receiver of webhooks on this machine. It checks each one's signature, prints it, and answers as it is told.

import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { createWebhookSigner } from '../../channels/webhook/signature.ts';
import type { Config } from '../config.ts';
import { StartError } from '../start-error.ts';
import { findService } from './local-service.ts';

export interface ListenOptions {
  readonly port: number;
  /** Of the service whose demo tenant's secret is asked for; absent: the one of the settings. */
  readonly url?: string | undefined;
  /** Absent: the demo tenant's. */
  readonly secret?: string | undefined;
  /** Each webhook is passed on to it, and its status is the answer. */
  readonly forward?: string | undefined;
  readonly status: number;
}

/** A webhook holds 200 KiB of body and 64 KiB of data, written as JSON. */
const bodyBytesMax = 4 * 1024 * 1024;
/** Standard Webhooks: what is older or newer isn't to be believed. */
const toleranceSeconds = 300;
/** Ids of the last webhooks, to tell what came before. */
const idsMax = 10_000;
const forwardMaxMs = 15_000;

/** Runs until it is stopped. */
export async function listenToWebhooks(config: Config, options: ListenOptions): Promise<void> {
  const { url, tenant } = await findService(config, options.url);
  const secret = options.secret ?? tenant?.webhookSecret ?? null;
  const seen = new Set<string>();
  const server = createServer((req, res) => {
    const answer = async (webhook: Webhook): Promise<void> => {
      const status = options.forward === undefined ? options.status : await passOn(options.forward, webhook);
      res.writeHead(status).end();
      process.stdout.write(described(webhook, { status, secret, isKnown: seen.has(webhook.id) }));
      seen.add(webhook.id);
      const [oldest] = seen;
      if (seen.size > idsMax && oldest !== undefined) seen.delete(oldest);
    };
    // Who goes away in the middle of a webhook is answered nothing.
    void receive(req).then(answer, () => {});
  });
  server.listen(options.port, '127.0.0.1');
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', (error) =>
      reject(new StartError(`--port: can't listen on ${options.port}: ${error.message}`)),
    );
  });
  const { port } = server.address() as AddressInfo;
  const body = `{"channel":"WEBHOOK","recipient":"http://127.0.0.1:${port}/","body":"Hello","data":{"order":17}}`;
  process.stdout
    .write(`Listening for webhooks on http://127.0.0.1:${port}/${secret === null ? '; no --secret, and no service answered with one: signatures are not checked' : ''}

Send one:

  curl -sS ${url}/api/v1/notify -H 'x-api-key: ${tenant?.apiKey ?? 'nk_...'}' -H 'content-type: application/json' -d '${body}'

`);
}

interface Webhook {
  readonly method: string;
  readonly path: string;
  readonly id: string;
  readonly timestamp: string;
  readonly signatures: string;
  /** What it is passed on with. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** What a webhook says beside its body: its kind, who sends it, its signature, its trace. */
const passedOn = /^(?:content-type|user-agent|webhook-.*|traceparent|tracestate|baggage)$/;

async function receive(req: IncomingMessage): Promise<Webhook> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= bodyBytesMax) chunks.push(chunk);
  }
  const header = (name: string) => String(req.headers[name] ?? '');
  return {
    method: req.method ?? '',
    path: req.url ?? '',
    id: header('webhook-id'),
    timestamp: header('webhook-timestamp'),
    signatures: header('webhook-signature'),
    headers: Object.fromEntries(
      Object.keys(req.headers)
        .filter((name) => passedOn.test(name))
        .map((name) => [name, header(name)]),
    ),
    body: Buffer.concat(chunks),
  };
}

/** The answer's status; 502 when there is none. */
async function passOn(to: string, { headers, body }: Webhook): Promise<number> {
  const signal = AbortSignal.timeout(forwardMaxMs);
  try {
    return (await fetch(to, { method: 'POST', headers, body: new Uint8Array(body), redirect: 'manual', signal }))
      .status;
  } catch {
    return 502;
  }
}

interface Told {
  readonly status: number;
  readonly secret: string | null;
  readonly isKnown: boolean;
}

function described(webhook: Webhook, { status, secret, isKnown }: Told): string {
  const { method, path, id, body } = webhook;
  const checked = secret === null ? 'signature not checked' : checkedBy(secret, webhook);
  const again = isKnown ? ', again' : '';
  return `${new Date().toISOString()} ${method} ${path} ${id === '' ? 'without webhook-id' : id}${again}: ${checked}, answered ${status}\n${indented(body)}\n\n`;
}

const signer = createWebhookSigner();

function checkedBy(secret: string, { id, timestamp, signatures, body }: Webhook): string {
  if (id === '' || timestamp === '' || signatures === '') return 'NOT SIGNED';
  const wanted = Buffer.from(signer.sign([secret], { id, timestamp, body }));
  const isRight = signatures.split(' ').some((one) => {
    const given = Buffer.from(one);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
  if (!isRight) return 'SIGNATURE WRONG';
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  return age <= toleranceSeconds ? 'signature right' : 'signature right, but its time is not now';
}

function indented(body: Buffer): string {
  const text = body.toString('utf8');
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

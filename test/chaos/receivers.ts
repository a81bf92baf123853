// The outside world of the chaos: receivers of webhooks, SMS and mails that take a message, or fail, hang or put off as its kind says.

import type { ServerResponse } from 'node:http';

import type { Environment } from '../support/herald.ts';
import type { SinkRequest } from '../support/http-sink.ts';
import { startHttpSink } from '../support/http-sink.ts';
import { startSmtpSink } from '../support/smtp-sink.ts';

/** What a receiver does with the messages of a notification: the first, or the first three, or each. */
export type Kind = 'plain' | 'slow' | 'fails-once' | 'fails-thrice' | 'put-off' | 'hangs' | 'refused';

export interface Arrival {
  /** UTC ms. */
  readonly at: number;
  /** `hung`: it is never answered. */
  readonly answer: 'taken' | 'failed' | 'hung' | 'refused';
  /** When the answer went out; of `hung` when the sender stops waiting for it. */
  readonly answeredAt: number;
  /** As asked by Retry-After; 0 without. */
  readonly retryAfterMs: number;
}

export interface Receivers {
  readonly webhooksUrl: string;
  readonly mailPort: number;
  readonly environment: Environment;
  /** By the number of the notification, in the order in which they came. */
  readonly arrivals: ReadonlyMap<number, readonly Arrival[]>;
  close(): Promise<void>;
}

/** An attempt that is not answered is over after so long: sooner than the 5 s that a number which moves waits for it. */
const attemptDeadlineMs = 4_000;
/** Eight attempts; at most three fail by their kind, the others are for attempts that a freeze cuts. */
export const retryDelaysMs = [1_000, 2_000, 3_000, 4_000, 4_000, 4_000, 4_000];
const putOffSeconds = 3;
const slowMs = 700;

const failures: Readonly<Record<Kind, number>> = {
  plain: 0,
  slow: 0,
  'fails-once': 1,
  'fails-thrice': 3,
  'put-off': 1,
  hangs: 1,
  refused: Infinity,
};

/** @param kindOf by the number of the notification, which is in its recipient */
export async function startReceivers(kindOf: (n: number) => Kind): Promise<Receivers> {
  const arrivals = new Map<number, Arrival[]>();

  /** Keeps the arrival and says how to answer it. */
  const arrive = (n: number): { readonly kind: Kind; readonly arrival: Arrival } => {
    const kind = kindOf(n);
    const before = arrivals.get(n) ?? [];
    const answer = before.length < failures[kind] ? failing(kind) : 'taken';
    const at = Date.now();
    const takesMs = answer === 'hung' ? attemptDeadlineMs : kind === 'slow' ? slowMs : 0;
    const retryAfterMs = answer === 'failed' && kind === 'put-off' ? putOffSeconds * 1000 : 0;
    const arrival = { at, answer, answeredAt: at + takesMs, retryAfterMs };
    arrivals.set(n, [...before, arrival]);
    return { kind, arrival };
  };

  const webhooks = await startHttpSink({
    respond(request, response) {
      const { kind, arrival } = arrive(numberIn(request.path));
      if (kind === 'slow') setTimeout(() => response.writeHead(200).end(), slowMs);
      else answerHttp(arrival, response, () => response.writeHead(200).end());
    },
  });
  const sms = await startHttpSink({
    respond(request: SinkRequest, response) {
      const { arrival } = arrive(numberIn(new URLSearchParams(request.body).get('To') ?? ''));
      answerHttp(arrival, response, () =>
        response
          .writeHead(201, { 'content-type': 'application/json' })
          .end('{"sid":"SM00000000000000000000000000000001","status":"queued","error_code":null}'),
      );
    },
  });
  const mail = await startSmtpSink({
    answer({ to }) {
      const { arrival } = arrive(numberIn(to[0] ?? ''));
      if (arrival.answer === 'hung') return 'hang';
      return arrival.answer === 'taken' ? null : { code: 451, message: 'try again later' };
    },
  });
  return {
    webhooksUrl: webhooks.url,
    mailPort: mail.port,
    arrivals,
    environment: {
      OUTBOUND_ALLOW: '127.0.0.1/32',
      PROVIDER_URLS: JSON.stringify({ twilio: sms.url }),
      RATE_LIMIT: '1000000/10s',
      ATTEMPT_DEADLINE: `${attemptDeadlineMs}ms`,
      RETRY_DELAYS: retryDelaysMs.map((ms) => `${ms}ms`).join(','),
    },
    close: async () => {
      await Promise.all([webhooks.close(), sms.close(), mail.close()]);
    },
  };
}

/** The digits at the end, before a host: of `/hooks/17`, `+15550000017` (whose area code it takes off) and `customer-17@example.com`. */
function numberIn(recipient: string): number {
  const digits = /(\d+)(?:@.*)?$/.exec(recipient.replace(/^\+1555/, ''))?.[1];
  if (digits === undefined) throw new Error(`${recipient} holds no number`);
  return Number(digits);
}

function failing(kind: Kind): Arrival['answer'] {
  if (kind === 'hangs') return 'hung';
  return kind === 'refused' ? 'refused' : 'failed';
}

function answerHttp({ answer, retryAfterMs }: Arrival, response: ServerResponse, take: () => void): void {
  switch (answer) {
    case 'taken':
      return take();
    case 'failed':
      response.writeHead(
        retryAfterMs > 0 ? 429 : 500,
        retryAfterMs > 0 ? { 'retry-after': String(retryAfterMs / 1000) } : {},
      );
      response.end();
      return;
    case 'refused':
      response.writeHead(410).end();
      return;
    case 'hung':
      return;
  }
}

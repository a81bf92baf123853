// Commands by themselves: given facts, the event that is appended, or the refusal.

import { describe, expect, it } from '@jest/globals';

import { acceptNotification } from '../../src/commands/accept-notification.ts';
import { cancelNotification } from '../../src/commands/cancel-notification.ts';
import { recordChange } from '../../src/commands/record-change.ts';
import { retryNotification } from '../../src/commands/retry-notification.ts';
import type { DomainEvent, NotificationEvent } from '../../src/domain/events.ts';
import { eventIdFrom } from '../../src/domain/ids.ts';
import type { NotificationFacts } from '../../src/domain/notification.ts';
import { canonicalContent } from '../../src/domain/delivery-request.ts';
import { mergeEvent } from '../../src/domain/notification.ts';
import { defaultPartitioning, partitionOf } from '../../src/domain/topics.ts';
import { noTrace } from '../../src/domain/trace-context.ts';
import type { AppendResult } from '../../src/ports/event-log.ts';
import { requested } from '../support/requested.ts';
import { wallClock } from '../support/wall-clock.ts';

const position = { topic: 'notifications.deliveries', partition: 3, offset: 7 };

/** A log that answers as it is told and keeps what it was given. */
const logAnswering = (...answers: AppendResult['kind'][]) => {
  const appended: DomainEvent[] = [];
  return {
    appended,
    partitioning: defaultPartitioning,
    async append(event: DomainEvent): Promise<AppendResult> {
      appended.push(event);
      const kind = answers[appended.length - 1] ?? 'durable';
      return kind === 'durable' ? { kind, position } : { kind, reason: 'asked to' };
    },
  };
};

const request = requested(3, 1);
const failed = (attempt: number, retryAt: number | null, round = 1): NotificationEvent => ({
  ...request,
  type: 'AttemptFailed',
  eventId: eventIdFrom('failed', attempt),
  causeId: request.eventId,
  round,
  attempt,
  firstAttempt: 1,
  provider: 'smtp',
  failureClass: 'recipient',
  code: '550',
  message: 'no such user',
  waitedMs: 0,
  tookMs: 1,
  retryAt,
  request: null,
});
const factsOf = (...events: NotificationEvent[]): NotificationFacts =>
  events.reduce<NotificationFacts | null>((facts, event) => mergeEvent(facts, event), null) as NotificationFacts;

describe('retry', () => {
  it('of a failed notification begins the next round, its attempt numbers going on, and says the same when repeated', async () => {
    const log = logAnswering();
    const retry = retryNotification({ log, clock: wallClock });
    const facts = factsOf(request, failed(1, 5), failed(2, null));
    expect(await retry(facts)).toBe(position);
    await retry(facts);
    const [first, second] = log.appended;
    expect(first).toMatchObject({
      type: 'RetryRequested',
      eventId: eventIdFrom('retry', request.notificationId, 2),
      round: 2,
      attempt: 3,
      partition: 3,
      requestedAt: request.requestedAt,
      // What isn't there is left out of the facts.
      request: { ...canonicalContent(request.request), tracestate: null, baggage: null },
    });
    expect(second).toMatchObject({ eventId: (first as NotificationEvent).eventId });
  });

  it.each([
    ['QUEUED', factsOf(request)],
    ['RETRYING', factsOf(request, failed(1, 5))],
  ])('of one that is %s is a conflict and appends nothing', async (_, facts) => {
    const log = logAnswering();
    await expect(retryNotification({ log, clock: wallClock })(facts)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(log.appended).toEqual([]);
  });
});

describe('a retry of one with an expiry', () => {
  const expiring = (expiresAt: number) =>
    factsOf({ ...request, request: { ...request.request, expiresAt } }, failed(1, null));

  it('that is over is a conflict that says so, and appends nothing', async () => {
    const log = logAnswering();
    await expect(retryNotification({ log, clock: wallClock })(expiring(Date.now()))).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'This notification has expired: send a new one instead.',
    });
    expect(log.appended).toEqual([]);
  });

  it('that is ahead keeps it', async () => {
    const log = logAnswering();
    const expiresAt = Date.now() + 60_000;
    await retryNotification({ log, clock: wallClock })(expiring(expiresAt));
    expect(log.appended).toMatchObject([{ type: 'RetryRequested', request: { expiresAt } }]);
  });
});

describe('the 100th round', () => {
  it('is the last: a further retry is a conflict that says so, and appends nothing', async () => {
    const log = logAnswering();
    const retry = retryNotification({ log, clock: wallClock });
    await retry(factsOf(request, failed(99, null, 99)));
    expect(log.appended).toMatchObject([{ type: 'RetryRequested', round: 100, attempt: 100 }]);
    await expect(retry(factsOf(request, failed(100, null, 100)))).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'This notification was sent 100 times, which is the most: send a new one instead.',
    });
    expect(log.appended).toHaveLength(1);
  });

  it('of one that could not be kept whole is not to be had: what is left of its content is not sent', async () => {
    const log = logAnswering();
    const cut = { ...factsOf(request, failed(1, null)), isCut: true } as const;
    await expect(retryNotification({ log, clock: wallClock })(cut)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(log.appended).toEqual([]);
  });
});

describe('cancel', () => {
  it('of one that waits asks for its round to be stopped', async () => {
    const log = logAnswering();
    await cancelNotification({ log, clock: wallClock })(factsOf(request, failed(1, 5)));
    expect(log.appended).toMatchObject([
      { type: 'CancelRequested', notificationId: request.notificationId, round: 1, partition: 3 },
    ]);
  });

  it.each([
    ['QUEUED', factsOf(request)],
    ['FAILED', factsOf(request, failed(1, null))],
  ])('of one that is %s is a conflict', async (_, facts) => {
    const log = logAnswering();
    await expect(cancelNotification({ log, clock: wallClock })(facts)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(log.appended).toEqual([]);
  });

  it.each([
    ['refused', 'was not accepted'],
    ['unknown', 'may have been accepted'],
  ] as const)('that the log answers with %s says that it %s', async (kind, words) => {
    const cancel = cancelNotification({ log: logAnswering(kind), clock: wallClock });
    await expect(cancel(factsOf(request, failed(1, 5)))).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringContaining(words),
    });
  });
});

describe('accept', () => {
  const input = {
    tenantId: request.tenantId,
    channel: 'EMAIL' as const,
    recipient: 'ada@example.com',
    priority: 'HIGH' as const,
    template: null,
    subject: 'Hi',
    body: '<p>Hi</p>',
    data: null,
    dataText: '{}',
    metadata: {},
    strict: null,
    sendAt: null,
    expiry: null,
    replyTo: null,
    cc: [],
    bcc: [],
    transactional: false,
    resendOf: null,
    trace: noTrace,
  };
  const accepting = (log: ReturnType<typeof logAnswering>) =>
    acceptNotification({
      log,
      clock: wallClock,
      directory: { templateByName: async () => null, canDeliver: async () => true },
      renderer: {
        render: () => {
          throw new Error('nothing is to be rendered');
        },
      },
    });

  it("derives the event's id from the notification's, and its partition from the rule", async () => {
    const log = logAnswering();
    const { notificationId } = await accepting(log)(input);
    const { tenantId, channel, recipient } = input;
    expect(log.appended).toMatchObject([
      {
        type: 'NotificationRequested',
        eventId: eventIdFrom('requested', notificationId),
        notificationId,
        round: 1,
        partition: partitionOf({ tenantId, channel, recipient, notificationId }, defaultPartitioning),
        request: {
          bodyFormat: 'html',
          rawSubject: null,
          rawBody: null,
          template: null,
          sendAt: null,
          batchId: null,
          expiresAt: null,
          tracestate: null,
          baggage: null,
        },
      },
    ]);
  });

  it('keeps what was written beside what was rendered only where they differ', async () => {
    const log = logAnswering();
    const render = () => ({ subject: 'Hi', body: '<p>Hi Ada</p>', bodyFormat: 'html' as const });
    const directory = { templateByName: async () => null, canDeliver: async () => true };
    const accept = acceptNotification({ log, clock: wallClock, directory, renderer: { render } });
    await accept({ ...input, body: '<p>Hi {{ name }}</p>', data: { name: 'Ada' }, dataText: '{"name":"Ada"}' });
    expect(log.appended).toMatchObject([
      { request: { subject: 'Hi', body: '<p>Hi Ada</p>', rawSubject: null, rawBody: '<p>Hi {{ name }}</p>' } },
    ]);
  });

  it('keeps a time ahead and drops a time past', async () => {
    const log = logAnswering();
    const ahead = Date.now() + 60_000;
    await accepting(log)({ ...input, sendAt: ahead });
    await accepting(log)({ ...input, sendAt: Date.now() - 1 });
    expect(log.appended.map((event) => 'request' in event && event.request?.sendAt)).toEqual([ahead, null]);
  });
});

describe('the audit', () => {
  const change = {
    tenantId: request.tenantId,
    subject: 'key',
    subjectId: 'x',
    action: 'regenerated',
    actor: 'owner',
  } as const;
  const audited = async (...answers: AppendResult['kind'][]) => {
    const log = logAnswering(...answers);
    const [forgotten, errors]: [string[], string[]] = [[], []];
    await recordChange(
      {
        log,
        clock: wallClock,
        directory: { forget: (id) => forgotten.push(id) },
        logger: { error: (message) => errors.push(message) },
      },
      change,
    );
    return { ids: log.appended.map((event) => event.eventId), forgotten, errors };
  };

  it('is appended again with the same id until it is durable', async () => {
    const { ids, forgotten, errors } = await audited('refused', 'unknown');
    expect([ids.length, new Set(ids).size, forgotten, errors]).toEqual([3, 1, [change.tenantId], []]);
  });

  it('that can not be appended is a line of the log and fails nothing', async () => {
    const { errors } = await audited('refused', 'refused', 'refused');
    expect(errors).toHaveLength(1);
  });
});

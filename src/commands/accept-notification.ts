// Accepts one notification: filled in and checked against the tenant's settings, then appended. What it resolves with is durable.

import { badField, DomainError, unavailable } from '../domain/errors.ts';
import type { Expiry } from '../domain/delivery-request.ts';
import { expiresAtOf } from '../domain/delivery-request.ts';
import type { Channel, NotificationRequested, Priority, TemplateReference } from '../domain/events.ts';
import type { BatchId, NotificationId, TenantId } from '../domain/ids.ts';
import { eventIdFrom, notificationIdOf } from '../domain/ids.ts';
import type { Template } from '../domain/tenant.ts';
import { bodyProblem, isHtmlSource, subjectProblem } from '../domain/template.ts';
import { partitionOf } from '../domain/topics.ts';
import type { TraceContext } from '../domain/trace-context.ts';
import type { Clock } from '../ports/clock.ts';
import type { AppendResult, EventLog, Position } from '../ports/event-log.ts';
import type { RenderedTemplate, TemplateRenderer, TemplateSource } from '../ports/template-renderer.ts';
import type { TenantDirectory } from '../ports/tenant-directory.ts';

/** A request whose fields were checked one by one; either `template` or `body` is set. */
export interface NotificationInput {
  readonly tenantId: TenantId;
  readonly channel: Channel;
  readonly recipient: string;
  readonly priority: Priority;
  /** A template's name. */
  readonly template: string | null;
  readonly subject: string | null;
  readonly body: string | null;
  /** null when it is empty. */
  readonly data: Readonly<Record<string, unknown>> | null;
  /** `data` as JSON text. */
  readonly dataText: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether names that `data` lacks are refused; null: as the template says, and without one they are empty. */
  readonly strict: boolean | null;
  /** UTC ms. */
  readonly sendAt: number | null;
  readonly expiry: Expiry | null;
  /** Of an EMAIL alone. */
  readonly replyTo: string | null;
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly transactional: boolean;
  /** The notification whose content it has; null: a request of its own. */
  readonly resendOf: NotificationId | null;
  readonly trace: TraceContext;
}

export interface Accepted {
  readonly notificationId: NotificationId;
  readonly position: Position;
}

/** Everything of a notification but who it is. */
export interface Prepared {
  readonly input: NotificationInput;
  readonly template: TemplateReference | null;
  readonly rendered: RenderedTemplate;
}

/** The same for whoever appends a notification again. */
export interface Identity {
  readonly notificationId: NotificationId;
  readonly requestedAt: number;
  readonly batchId: BatchId | null;
}

interface Dependencies {
  readonly directory: Pick<TenantDirectory, 'templateByName' | 'canDeliver'>;
  readonly renderer: Pick<TemplateRenderer, 'render'>;
  readonly log: Pick<EventLog, 'append' | 'partitioning'>;
  readonly clock: Pick<Clock, 'now' | 'uuidV7'>;
}

/**
 * The hot path: for a warm tenant and a source without tags nothing is waited for but the log.
 * @throws DomainError BAD_REQUEST, NO_PROVIDER_CONFIGURED, SERVICE_UNAVAILABLE
 */
export function acceptNotification(deps: Dependencies) {
  const prepare = prepareNotification(deps);
  const accept = acceptPrepared(deps);
  return async (input: NotificationInput, batchId: BatchId | null = null): Promise<Accepted> => {
    return accept(await prepare(input), batchId);
  };
}

/** @throws DomainError SERVICE_UNAVAILABLE */
export function acceptPrepared(deps: Pick<Dependencies, 'log' | 'clock'>) {
  const append = appendNotification(deps);
  return async (prepared: Prepared, batchId: BatchId | null = null): Promise<Accepted> => {
    const notificationId = notificationIdOf(deps.clock.uuidV7());
    const result = await append(prepared, { notificationId, requestedAt: deps.clock.now(), batchId });
    if (result.kind === 'durable') return { notificationId, position: result.position };
    throw notAppended(result.kind, withoutKey);
  };
}

export const withoutKey = 'An Idempotency-Key makes such a request safe to repeat; this one had none.';

/** @throws DomainError BAD_REQUEST, NO_PROVIDER_CONFIGURED, SERVICE_UNAVAILABLE */
export function prepareNotification({ directory, renderer }: Pick<Dependencies, 'directory' | 'renderer'>) {
  return async (input: NotificationInput): Promise<Prepared> => {
    const { tenantId, template: name } = input;
    const source = sourceOf(input, name === null ? null : await directory.templateByName(tenantId, name));
    const rendering = render(renderer, source, input);
    const rendered = rendering instanceof Promise ? await rendering : rendering;
    checkSizes(rendered);
    await checkProvider(directory, input);
    return { input, template: source.reference, rendered };
  };
}

/** null: it is to be filled in. Asks nothing of the tenant's settings. @throws DomainError BAD_REQUEST */
export function preparePlain(input: NotificationInput): Prepared | null {
  if (!isPlain(input)) return null;
  const rendered = asItStands(rawSource(input), input.channel);
  checkSizes(rendered);
  return { input, template: null, rendered };
}

/** @param template the one that the input names @throws DomainError BAD_REQUEST */
export function sourceOf(input: NotificationInput, template: Template | null): Source {
  return input.template === null ? rawSource(input) : templateSource(input, template, input.template);
}

/** At once where nothing is to be filled in. */
export function render(
  renderer: Dependencies['renderer'],
  source: Source,
  { tenantId, channel, data }: NotificationInput,
): RenderedTemplate | Promise<RenderedTemplate> {
  if (source.isPlain) return asItStands(source, channel);
  return renderer.render(source, data ?? {}, {
    isEmail: channel === 'EMAIL',
    owner: tenantId,
    isStrict: source.isStrict,
  });
}

export function appendNotification({ log }: Pick<Dependencies, 'log'>) {
  return (prepared: Prepared, identity: Identity): Promise<AppendResult> =>
    log.append(requested(prepared, identity, log));
}

/** @param whenUnknown what to do when it may have been appended all the same */
export function notAppended(kind: 'refused' | 'unknown', whenUnknown: string): DomainError {
  return unavailable(
    kind === 'refused'
      ? 'Nothing was accepted: the event log takes nothing at the moment. Send the request again.'
      : `The notification may have been accepted all the same: the event log did not answer. ${whenUnknown}`,
  );
}

export interface Source extends TemplateSource {
  readonly reference: TemplateReference | null;
  /** Nothing is to be filled in. */
  readonly isPlain: boolean;
  readonly isStrict: boolean;
}

/** Whether nothing is to be filled in. Strict text is filled in even from nothing: a placeholder in it is one. */
export function isPlain({ template, data, strict }: NotificationInput): boolean {
  return template === null && data === null && strict !== true;
}

function rawSource(input: NotificationInput): Source {
  const { subject, body, strict } = input;
  return { subject, body: body ?? '', reference: null, isPlain: isPlain(input), isStrict: strict ?? false };
}

function templateSource(input: NotificationInput, template: Template | null, name: string): Source {
  if (template === null) throw badField('template', 'there is no template of this name');
  if (template.channel !== input.channel)
    throw badField('template', `is a template for ${template.channel}, not for ${input.channel}`);
  const { id, version, subject, body } = template;
  const isStrict = input.strict ?? template.strict;
  return { subject, body, reference: { id, name, version }, isPlain: false, isStrict };
}

function asItStands({ subject, body }: Source, channel: Channel): RenderedTemplate {
  return { subject, body, bodyFormat: channel === 'EMAIL' && isHtmlSource(body) ? 'html' : 'text' };
}

/** @throws DomainError BAD_REQUEST */
export function checkSizes({ subject, body }: RenderedTemplate): void {
  const problem = subject === null ? null : subjectProblem(subject);
  if (problem !== null) throw badField('subject', problem);
  const bodyWrong = bodyProblem(body);
  if (bodyWrong !== null) throw badField('body', bodyWrong);
}

export function requested(
  { input, template, rendered }: Prepared,
  { notificationId, requestedAt, batchId }: Identity,
  log: Pick<EventLog, 'partitioning'>,
): NotificationRequested {
  const { tenantId, channel, recipient, priority, trace } = input;
  const isRaw = template === null;
  const event: NotificationRequested = {
    type: 'NotificationRequested',
    eventId: eventIdFrom('requested', notificationId),
    occurredAt: requestedAt,
    tenantId,
    traceparent: trace.traceparent,
    notificationId,
    requestedAt,
    channel,
    priority,
    recipient,
    round: 1,
    partition: partitionOf({ tenantId, channel, recipient, notificationId }, log.partitioning),
    request: {
      subject: rendered.subject,
      body: rendered.body,
      bodyFormat: rendered.bodyFormat,
      rawSubject: isRaw ? ownForm(input.subject, rendered.subject) : null,
      rawBody: isRaw ? ownForm(input.body, rendered.body) : null,
      data: input.dataText,
      metadata: input.metadata,
      template,
      sendAt: input.sendAt !== null && input.sendAt > requestedAt ? input.sendAt : null,
      batchId,
      expiresAt: expiresAtOf(input.expiry, input.sendAt, requestedAt),
      replyTo: input.replyTo,
      cc: input.cc,
      bcc: input.bcc,
      transactional: input.transactional,
      tracestate: trace.tracestate,
      baggage: trace.baggage,
    },
  };
  return input.resendOf === null ? event : { ...event, resendOf: input.resendOf };
}

/** A body of 200 KiB isn't kept twice: null where nothing was filled in. */
function ownForm(raw: string | null, rendered: string | null): string | null {
  return raw === rendered ? null : raw;
}

/** @throws DomainError NO_PROVIDER_CONFIGURED */
export async function checkProvider(
  directory: Pick<TenantDirectory, 'canDeliver'>,
  { tenantId, channel }: Pick<NotificationInput, 'tenantId' | 'channel'>,
): Promise<void> {
  if (!(await directory.canDeliver(tenantId, channel))) throw noProvider(channel);
}

export function noProvider(channel: Channel): DomainError {
  return new DomainError(
    'NO_PROVIDER_CONFIGURED',
    `No enabled provider is configured for ${channel}: save one with POST /api/v1/providers.`,
  );
}

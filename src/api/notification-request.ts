// The body of POST /notify: its schema, and the rules between its fields.

import { z } from 'zod';

import type { NotificationInput } from '../commands/accept-notification.ts';
import type { ErrorDetail } from '../domain/errors.ts';
import type { Channel } from '../domain/events.ts';
import { channels, priorities } from '../domain/events.ts';
import type { Outbound } from '../ports/outbound.ts';
import { wireForms } from './docs/wire-forms.ts';
import { badFields } from './errors.ts';
import { fieldPath } from './field-path.ts';
import { copiesProblems, mailFields } from './mail-fields.ts';
import { timeFields, timesOf } from './notification-times.ts';
import { isObject, isPlain } from './plain-notification.ts';
import { recipientProblem } from './recipients.ts';
import { isShallow, tooDeep } from './text-check.ts';
import { validate } from './validate.ts';

const dataBytesMax = 64 * 1024;
const metadataPairsMax = 20;
const metadataKeyMax = 64;
const metadataValueMax = 500;

/** `data`, whatever it is filled into. */
export const dataObject = z
  .custom<Readonly<Record<string, unknown>>>(isObject, 'must be a JSON object')
  .register(wireForms, {
    type: 'object',
    additionalProperties: {},
    description: `For the placeholders; at most ${dataBytesMax / 1024} KiB.`,
  });

const pairs = z
  .custom<Readonly<Record<string, string>>>(isObject, 'must be a JSON object of strings')
  .register(wireForms, {
    type: 'object',
    description: 'Comes back with the record; the log is filtered by it.',
    maxProperties: metadataPairsMax,
    propertyNames: { minLength: 1, maxLength: metadataKeyMax },
    additionalProperties: { type: 'string', maxLength: metadataValueMax },
  });

const recipient = z
  .string()
  .describe(
    'EMAIL: an email address; SMS: a number in E.164 form with `+`; WEBHOOK: an https URL; IN_APP: an id of your own, at most 256 characters, neither `.` nor `..`.',
  );
const template = z.string().min(1).describe('The name of a template of the channel.');
const subject = z.string().describe('At most 998 characters without a line break, rendered. A raw EMAIL needs one.');
const content = z.string().describe('At most 200 KiB, rendered. In an EMAIL text with HTML tags is HTML.');

/** The rules between the fields are told below. */
export const notificationSchema = z.strictObject({
  channel: z.enum(channels),
  recipient,
  template: template.optional(),
  templateName: template.optional(),
  subject: subject.optional(),
  rawSubject: subject.optional(),
  body: content.optional(),
  rawBody: content.optional(),
  data: dataObject.optional(),
  priority: z.enum(priorities).describe('DEFAULT unless it is said.').optional(),
  ...timeFields,
  ...mailFields,
  metadata: pairs.optional(),
  strict: z
    .boolean()
    .describe(
      'True: names that the text asks for and `data` lack are refused, all of them at once; false: they are empty. As the template says unless it is said here.',
    )
    .optional(),
});

export type NotificationFields = z.output<typeof notificationSchema>;

/** What a request says by other means than its body. */
export type Sender = Pick<NotificationInput, 'tenantId' | 'trace'>;

/** @throws DomainError BAD_REQUEST naming every field that is wrong */
export function notificationRequest(
  body: unknown,
  { tenantId, trace }: Sender,
  now: number,
  outbound: Pick<Outbound, 'problemWithUrl'>,
): NotificationInput {
  const fields: NotificationFields = isPlain(body) ? body : validate(notificationSchema, body);
  const details: ErrorDetail[] = [];
  const template = either('template', fields.template, 'templateName', fields.templateName, details);
  const subject = either('subject', fields.subject, 'rawSubject', fields.rawSubject, details);
  const content = either('body', fields.body, 'rawBody', fields.rawBody, details);
  const { channel, recipient } = fields;
  checkContent(channel, { template, subject, content }, details);
  const problem = recipientProblem(channel, recipient, outbound) ?? dotsProblem(channel, recipient);
  if (problem !== null) details.push({ path: 'recipient', message: problem });
  const data = fields.data === undefined || isEmpty(fields.data) ? null : fields.data;
  const dataText = data === null ? '{}' : dataTextOf(data, details);
  const metadata = fields.metadata ?? noMetadata;
  if (fields.metadata !== undefined) checkMetadata(fields.metadata, details);
  const times = timesOf(fields, now, details);
  for (const problem of copiesProblems(channel, fields)) details.push(problem);
  if (details.length > 0) throw badFields(details);
  const priority = fields.priority ?? 'DEFAULT';
  return {
    tenantId,
    trace,
    channel,
    recipient,
    priority,
    template: template ?? null,
    subject: subject ?? null,
    body: content ?? null,
    data,
    dataText,
    metadata,
    strict: fields.strict ?? null,
    replyTo: fields.replyTo ?? null,
    cc: fields.cc ?? nobody,
    bcc: fields.bcc ?? nobody,
    transactional: fields.transactional ?? false,
    resendOf: null,
    sendAt: times.sendAt,
    expiry: times.expiry,
  };
}

/** Of what is sent from now on: whoever has such an inbox reads, marks and erases it by a client that keeps dots. https://url.spec.whatwg.org/#double-dot-path-segment */
function dotsProblem(channel: Channel, recipient: string): string | null {
  if (channel !== 'IN_APP' || (recipient !== '.' && recipient !== '..')) return null;
  return 'must be another name than "." and "..", which most clients leave out of an address';
}

const noMetadata: Readonly<Record<string, string>> = Object.freeze({});
const nobody: readonly string[] = Object.freeze([]);

/** A field that has two names: both may be given when they say the same. Told their values: to look for them by name is 1 to 2 ms of a batch of 10,000. */
function either(
  a: string,
  first: string | undefined,
  b: string,
  second: string | undefined,
  details: ErrorDetail[],
): string | undefined {
  if (first === undefined) return second;
  if (second !== undefined && first !== second) {
    details.push({ path: b, message: `is the same field as ${a} and says something else` });
    details.push({ path: a, message: `is the same field as ${b} and says something else` });
  }
  return first;
}

interface Content {
  readonly template: string | undefined;
  readonly subject: string | undefined;
  readonly content: string | undefined;
}

function checkContent(channel: Channel, { template, subject, content }: Content, details: ErrorDetail[]): void {
  if (template !== undefined) {
    const message = 'must not be given together with a template';
    if (content !== undefined) details.push({ path: 'body', message });
    if (subject !== undefined) details.push({ path: 'subject', message });
    if (content !== undefined || subject !== undefined)
      details.push({ path: 'template', message: 'must not be given together with a subject or a body' });
    return;
  }
  if (content === undefined || content === '')
    details.push({ path: 'body', message: 'is required when no template is given' });
  if (channel === 'EMAIL' && (subject === undefined || subject === '')) {
    details.push({ path: 'subject', message: 'is required for EMAIL when no template is given' });
  }
}

function isEmpty(value: object): boolean {
  for (const _ in value) return false;
  return true;
}

/** @throws DomainError BAD_REQUEST for data that is too large or nested too deep */
export function checkData(data: Readonly<Record<string, unknown>>): void {
  const details: ErrorDetail[] = [];
  dataTextOf(data, details);
  if (details.length > 0) throw badFields(details);
}

function dataTextOf(data: Readonly<Record<string, unknown>>, details: ErrorDetail[]): string {
  if (!isShallow(data)) {
    details.push({ path: 'data', message: tooDeep });
    return '{}';
  }
  const text = JSON.stringify(data);
  // A UTF-16 unit is at most 3 bytes of UTF-8.
  if (text.length * 3 > dataBytesMax && Buffer.byteLength(text) > dataBytesMax) {
    details.push({ path: 'data', message: `must have at most ${dataBytesMax / 1024} KiB` });
  }
  return text;
}

function checkMetadata(metadata: Readonly<Record<string, unknown>>, details: ErrorDetail[]): void {
  const entries = Object.entries(metadata);
  if (entries.length > metadataPairsMax)
    details.push({ path: 'metadata', message: `must have at most ${metadataPairsMax} pairs` });
  for (const [key, value] of entries.slice(0, metadataPairsMax)) {
    const path = fieldPath('metadata', key);
    // A prototype's name would be lost on the way through stores that set properties by assignment.
    if (key === '' || key.length > metadataKeyMax || key === '__proto__') {
      details.push({ path, message: `its name must have 1 to ${metadataKeyMax} characters` });
    }
    if (typeof value !== 'string') details.push({ path, message: 'must be a string' });
    else if (value.length > metadataValueMax)
      details.push({ path, message: `must have at most ${metadataValueMax} characters` });
  }
}

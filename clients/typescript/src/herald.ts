// The client: every operation of the API by its name, pages and streams as what can be iterated over.

import { HeraldError } from './errors.ts';
import type { BatchItem, NotificationRequest } from './notification-request.ts';
import type {
  Answer,
  Arguments,
  CallOptions,
  Entry,
  Input,
  OperationName,
  PagesInput,
  PagesName,
  RequestName,
  RequestOptions,
  Schemas,
  StreamMessages,
  StreamName,
} from './operations.ts';
import { follow } from './server-sent-events.ts';
import type { Incoming, TransportOptions } from './transport.ts';
import { createTransport } from './transport.ts';

export interface StreamOptions {
  /** Ends the stream: the iteration rejects with its reason. */
  readonly signal?: AbortSignal;
  /** Each time that it is cut, or can't be opened; it is tried again by itself. */
  readonly onCut?: (cause: unknown) => void;
  /** The id of a message, behind which it begins; from now on unless it is said. */
  readonly lastEventId?: string;
}

/** An answer with what its headers say. */
export interface Received<Name extends string> {
  readonly data: Answer<Name>;
  readonly headers: Headers;
}

export type Herald = ReturnType<typeof createHerald>;

export function createHerald(options: TransportOptions) {
  const transport = createTransport(options);

  const send = (name: OperationName, input: AnyInput): Promise<Incoming> => {
    const { method, path } = addressOf(name, input);
    const { body, signal } = input;
    const timeoutMs =
      input.timeoutMs ?? (name === batch ? Math.max(options.timeoutMs ?? 0, batchTimeoutMs) : undefined);
    const isKeyed = keyed.has(name);
    const headers: Record<string, string> = { accept: 'application/json, */*;q=0.5' };
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (isKeyed) headers['idempotency-key'] = input.idempotencyKey ?? crypto.randomUUID();
    if (input.afterPosition !== undefined) headers['x-after-position'] = input.afterPosition;
    return transport.send({
      method,
      path,
      headers,
      isRepeatable: isKeyed || method === 'GET' || repeatable.has(name) || marksNamed(name, body),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
  };

  /**
   * The answer of an operation: `await herald.request('GET /notifications/{id}', { path: { id } })`.
   * @throws HeraldError a refusal; HeraldConnectionError no answer; the signal's reason; TypeError what no address can hold
   */
  const request = async <Name extends RequestName>(
    name: Name,
    ...[input]: Arguments<Input<Name>, RequestOptions>
  ): Promise<Answer<Name>> => dataOf<Name>(await send(name, input ?? {}));

  async function* pages<Name extends PagesName>(
    name: Name,
    ...[input]: Arguments<PagesInput<Name>, RequestOptions>
  ): AsyncGenerator<Answer<Name>, void> {
    const first: AnyInput = input ?? {};
    let cursor: string | null = null;
    do {
      const received = await send(name, cursor === null ? first : { ...first, query: { ...first.query, cursor } });
      const page = jsonOf(received);
      yield page as Answer<Name>;
      cursor = nextCursorOf(page, received.headers);
    } while (cursor !== null);
  }

  return {
    request,
    /** Page by page, each asked for when it is wanted. */
    pages,

    /** The same with the answer's headers: `x-event-position`, `idempotent-replayed`, `ratelimit`. */
    async receive<Name extends RequestName>(
      name: Name,
      ...[input]: Arguments<Input<Name>, RequestOptions>
    ): Promise<Received<Name>> {
      const received = await send(name, input ?? {});
      return { data: dataOf<Name>(received), headers: received.headers };
    },

    /** Entry by entry, over all pages. */
    async *each<Name extends PagesName>(
      name: Name,
      ...input: Arguments<PagesInput<Name>, RequestOptions>
    ): AsyncGenerator<Entry<Name>, void> {
      for await (const page of pages(name, ...input)) yield* entriesOf<Name>(page);
    },

    /** Sends one. With an Idempotency-Key, so that it is sent once however often it has to be asked for. */
    notify: (
      body: NotificationRequest,
      callOptions: Pick<RequestOptions, 'idempotencyKey'> & CallOptions = {},
    ): Promise<Schemas['Accepted']> => request('POST /notify', { ...callOptions, body }),

    /** Sends up to 10,000; each result says what became of its item. Every item has an idempotency key. An attempt takes 75 s and more, unless `timeoutMs` is said here. */
    async notifyBatch(items: readonly BatchItem[], callOptions: CallOptions = {}): Promise<Schemas['BatchAccepted']> {
      const notifications = items.map((item) => ({
        ...item,
        idempotencyKey: item.idempotencyKey ?? crypto.randomUUID(),
      }));
      return dataOf<typeof batch>(await send(batch, { ...callOptions, body: { notifications } }));
    },

    /**
     * What comes from now on, each message once, over as many connections as it takes. `break` ends it.
     * @throws HeraldError that trying again doesn't mend; the signal's reason
     */
    async *stream<Name extends StreamName>(
      name: Name,
      ...[input]: Arguments<Input<Name>, StreamOptions>
    ): AsyncGenerator<StreamMessages[Name], void> {
      const { signal, onCut, lastEventId: behind, ...asked }: StreamOptions & AnyInput = input ?? {};
      const { path } = addressOf(name, asked);
      const open = (lastEventId: string | null, until: AbortSignal) =>
        transport.open(
          path,
          { accept: 'text/event-stream', ...(lastEventId === null ? {} : { 'last-event-id': lastEventId }) },
          until,
        );
      for await (const { event, id, data } of follow({ open, signal, onCut, lastEventId: behind }))
        yield { event, id, data: JSON.parse(data) as unknown } as StreamMessages[Name];
    },
  };
}

const batch = 'POST /notify/batch';
/** It may wait for 40 s until there is room for it, and is taken in within 28 then. */
const batchTimeoutMs = 75_000;

/** They take an Idempotency-Key. */
const keyed: ReadonlySet<OperationName> = new Set(['POST /notify', 'POST /notifications/{id}/resend']);

/** Asked twice they do nothing twice; the items of a batch have keys of their own. */
const repeatable: ReadonlySet<OperationName> = new Set([
  batch,
  'POST /notify/inapp/{userId}/token',
  'POST /auth/provision-tenant',
  'POST /templates/{id}/preview',
]);

/** Those of an inbox that are named are marked once; all of them up to now are others when it is asked again. */
function marksNamed(name: OperationName, body: unknown): boolean {
  if (name !== 'POST /notify/inapp/{userId}/read') return false;
  const { ids }: { readonly ids?: unknown } = body ?? {};
  return ids !== undefined;
}

/** What any operation is called with, its types checked where it is called. */
interface AnyInput extends RequestOptions {
  readonly path?: object;
  readonly query?: object;
  readonly body?: unknown;
}

function addressOf(name: OperationName, { path = {}, query = {} }: AnyInput) {
  const [method = '', pattern = ''] = name.split(' ');
  const values = new Map<string, unknown>(Object.entries(path));
  const filled = pattern.replaceAll(/\{(\w+)\}/g, (_, param: string) => segmentOf(param, values.get(param)));
  const search = new URLSearchParams(Object.entries(query).flatMap(([key, value]) => parametersOf(key, value)));
  return { method, path: search.size === 0 ? filled : `${filled}?${search}` };
}

/** What an address can't hold as a segment of its path would reach another operation. https://url.spec.whatwg.org/#double-dot-path-segment */
function segmentOf(param: string, value: unknown): string {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  if (text === '' || text === '.' || text === '..')
    throw new TypeError(`${param} should be neither empty nor "." nor "..", which no address can hold.`);
  return encodeURIComponent(text);
}

/** An object is a parameter for each of its names: `metadata[order]=1`. */
function parametersOf(key: string, value: unknown): [string, string][] {
  if (value === undefined || value === null) return [];
  if (typeof value !== 'object') return [[key, typeof value === 'string' ? value : JSON.stringify(value)]];
  return Object.entries(value).flatMap(([name, inner]) => parametersOf(`${key}[${name}]`, inner));
}

function dataOf<Name extends string>(received: Incoming): Answer<Name> {
  const isCsv = received.headers.get('content-type')?.startsWith('text/csv') === true;
  return (isCsv ? received.text : jsonOf(received)) as Answer<Name>;
}

/** @throws HeraldError a page of something before the service: a proxy, a network that wants a person to sign in */
function jsonOf({ status, text }: Incoming): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new HeraldError(status, { error: `The answer was ${status}, without JSON.` }, null);
  }
}

interface Cursors {
  readonly nextCursor?: string | null;
  readonly pagination?: { readonly nextCursor?: string | null };
}

/** Lists say it in the answer, those that are bare arrays in the header Link. */
function nextCursorOf(page: unknown, headers: Headers): string | null {
  if (Array.isArray(page)) {
    const [, next = null] = /<([^>]+)>; *rel="next"/.exec(headers.get('link') ?? '') ?? [];
    return next === null ? null : new URLSearchParams(next.split('?')[1]).get('cursor');
  }
  const { nextCursor, pagination } = page as Cursors;
  return nextCursor ?? pagination?.nextCursor ?? null;
}

function entriesOf<Name extends string>(page: unknown): readonly Entry<Name>[] {
  if (Array.isArray(page)) return page;
  const lists = page as { readonly data?: readonly Entry<Name>[]; readonly notifications?: readonly Entry<Name>[] };
  return lists.data ?? lists.notifications ?? [];
}

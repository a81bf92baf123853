// The refusals that follow from a route itself: how it authenticates and what it takes.

import type { ErrorCode } from '../../domain/errors.ts';
import type { AuthKind } from '../endpoint.ts';
import { ownAnswersFull } from '../answers-in-flight.ts';
import { isRead } from '../endpoint.ts';
import { statusOfCode } from '../errors.ts';
import { lacksScope } from '../mistaken-credentials.ts';
import type { DescribedRoute } from './operation.ts';

export interface Refusal {
  readonly code: ErrorCode;
  /** As the service says it. */
  readonly error: string;
}

/** By status, ascending. */
export function refusalsOf(route: DescribedRoute): ReadonlyMap<number, readonly Refusal[]> {
  const sentences: Partial<Record<ErrorCode, string>> = {
    ...ofCaller(route),
    ...ofInput(route),
    ...ofRead(route),
    ...ofLimit(route),
    ...ofService,
  };
  for (const [code, error] of Object.entries(route.docs.refusals ?? {})) sentences[code as ErrorCode] = error;
  const refusals = Object.entries(sentences).map(([code, error]): Refusal => ({ code: code as ErrorCode, error }));
  const byStatus = Map.groupBy(refusals, ({ code }) => statusOfCode[code]);
  return new Map([...byStatus].sort(([a], [b]) => a - b));
}

type Sentences = Readonly<Partial<Record<ErrorCode, string>>>;

const noTenant = 'There is no tenant of this token yet: make it with POST /api/v1/auth/provision-tenant.';
const badKey = 'The API key is not valid.';
const badToken = 'The bearer token is not valid.';

const ofKind: Readonly<Record<AuthKind, Sentences>> = {
  none: {},
  apiKey: { UNAUTHORIZED: badKey },
  token: { UNAUTHORIZED: badToken, FORBIDDEN: 'The token has no claim org_id, by which its tenant is found.' },
  bearer: { UNAUTHORIZED: badToken, FORBIDDEN: noTenant },
  bearerOrKey: { UNAUTHORIZED: badToken, FORBIDDEN: noTenant },
  bearerOrQuery: { UNAUTHORIZED: badToken, FORBIDDEN: noTenant },
  inbox: { UNAUTHORIZED: badKey },
  inboxOrQuery: { UNAUTHORIZED: badKey },
};

const byKeyAlone: ReadonlySet<AuthKind> = new Set<AuthKind>(['apiKey', 'inbox', 'inboxOrQuery']);

function ofCaller({ auth, scopes = [] }: DescribedRoute): Sentences {
  return byKeyAlone.has(auth) ? { ...ofKind[auth], FORBIDDEN: lacksScope(scopes) } : ofKind[auth];
}

function ofInput({ endpoint, path }: DescribedRoute): Sentences {
  if (endpoint.body !== undefined) {
    return {
      UNSUPPORTED_MEDIA_TYPE: 'Send the body as content-type: application/json in UTF-8.',
      PAYLOAD_TOO_LARGE: 'A request holds at most 256 KiB.',
      BAD_REQUEST: 'The body is not valid JSON at line 3, column 5: a comma or } should stand here.',
    };
  }
  if (endpoint.query !== undefined) return { BAD_REQUEST: 'limit: must be a whole number from 1 to 100' };
  if (endpoint.follows !== undefined)
    return { BAD_REQUEST: 'x-after-position: must be what an x-event-position header said' };
  return path.includes(':') ? { BAD_REQUEST: 'The path holds a malformed percent encoding.' } : {};
}

function ofRead(route: DescribedRoute): Sentences {
  return isRead(route) ? { TOO_MANY_REQUESTS: ownAnswersFull } : {};
}

function ofLimit({ method, sends }: DescribedRoute): Sentences {
  if (method === 'GET') return {};
  return { TOO_MANY_REQUESTS: `The limit of ${sends === true ? 'requests' : 'changes'} is reached. Try again in 7 s.` };
}

const ofService: Sentences = {
  INTERNAL_SERVER_ERROR: 'Something went wrong on our side. Tell us the requestId.',
  SERVICE_UNAVAILABLE: 'The service cannot reach the settings store at the moment. Try again.',
};

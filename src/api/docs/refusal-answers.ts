// A refusal in the document: the one shape of every error, an example for each code, and the headers that come with it.

import type { HeaderName } from './answers.ts';
import { headerRefs } from './answers.ts';
import * as examples from './examples.ts';
import type { DescribedRoute } from './operation.ts';
import { isLimited } from './operation.ts';
import type { Refusal } from './refusals.ts';

export function refusalOf(status: number, refusals: readonly Refusal[], route: DescribedRoute) {
  const headers: HeaderName[] = ['x-request-id'];
  if (status === 401) headers.push('www-authenticate');
  // A 409 of a route with keys: a request of the same key is under way.
  const isTemporary = status === 429 || status === 503 || (status === 409 && route.docs.isKeyed === true);
  if (isTemporary) headers.push('retry-after');
  // Whoever isn't known has no limit, and who has no scope isn't counted.
  if (isLimited(route) && status !== 401 && status !== 403) headers.push('ratelimit', 'ratelimit-policy');
  const values = refusals.map(({ code, error }) => [
    code,
    { value: { code, error, details: detailsOf(error), requestId: examples.requestId } },
  ]);
  return {
    description: refusals.map(({ code }) => `\`${code}\``).join(', '),
    headers: headerRefs(headers),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(values) as unknown,
      },
    },
  };
}

/** A sentence about a field begins with its path. */
function detailsOf(error: string) {
  const [, path, message] = /^([a-z][\w.-]*): (.+)$/s.exec(error) ?? [];
  return path === undefined || message === undefined ? [] : [{ path, message }];
}

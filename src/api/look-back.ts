// What changes where the service looks back: every answer says as of when it is, what isn't in the log says that it is of today, and whatever writes is refused.

import type { RequestListener } from 'node:http';

import type { RequestHandler } from 'express';

import { DomainError } from '../domain/errors.ts';
import type { Clock } from '../ports/clock.ts';
import { type Callers, endpoint, type Endpoint, type Route } from './endpoint.ts';
import { isoTime } from './record.ts';
import type { Answer } from './respond.ts';

export const asOfHeader = 'x-as-of';
/** Of answers that come from the settings, which aren't in the log: when they were read. */
export const settingsAsOfHeader = 'x-settings-as-of';

/** Their GETs answer from the settings. */
const pathsOfSettings: ReadonlySet<string> = new Set([
  '/tenant',
  '/keys',
  '/providers',
  '/templates',
  '/templates/:id/versions',
  '/templates/:id/versions/:version',
  '/jobs/:id',
]);

/** 409: the answer to every write, and to whatever else a look-back has none for. */
export function readOnly(asOf: number, what = 'This service looks back'): DomainError {
  return new DomainError(
    'READ_ONLY',
    `${what}: it shows what was as of ${isoTime(asOf)} and changes nothing. Send this to the running service.`,
  );
}

/** The same routes, in their order: what reads answers as ever, everything else is refused once its caller is let in. */
export function lookingBack(
  routes: readonly Route[],
  { asOf, clock }: { readonly asOf: number; readonly clock: Pick<Clock, 'now'> },
): readonly Route[] {
  const refused = <Kind extends Route['auth']>(kind: Kind, what?: string): Endpoint<Callers[Kind]> =>
    endpoint(kind, { handle: () => Promise.reject(readOnly(asOf, what)) });
  const shown = (route: Route): Route => {
    if (route.method !== 'GET') return withEndpoint(route, refused(route.auth));
    if (route.live === true) return withEndpoint(route, refused(route.auth, 'A look-back has no live streams'));
    return pathsOfSettings.has(route.path) ? withEndpoint(route, ofSettings(route.endpoint, clock)) : route;
  };
  const notify: Route = {
    method: 'POST',
    path: '/notify',
    auth: 'apiKey',
    scopes: ['notify'],
    sends: true,
    endpoint: refused('apiKey'),
  };
  return [notify, ...routes.map(shown)];
}

/** Whatever answers, wherever it was refused. */
export function sayingAsOf(listener: RequestListener, asOf: number): RequestListener {
  return (req, res) => {
    res.setHeader(asOfHeader, isoTime(asOf));
    listener(req, res);
  };
}

/** Of what is served beside the routes. */
export function refusingWrites(asOf: number): RequestHandler {
  return ({ method }, _res, next) => {
    if (method !== 'GET' && method !== 'HEAD') throw readOnly(asOf);
    next();
  };
}

/** The endpoint is of the route's own kind of caller. */
function withEndpoint(route: Route, of: Endpoint<never>): Route {
  return { ...route, endpoint: of };
}

function ofSettings(of: Endpoint<never>, clock: Pick<Clock, 'now'>): Endpoint<never> {
  return {
    ...of,
    async handle(caller, input) {
      const answer = await of.handle(caller, input);
      if (!('status' in answer)) return answer;
      const headers = { ...answer.headers, [settingsAsOfHeader]: isoTime(clock.now()) };
      return { ...answer, headers } satisfies Answer;
    },
  };
}

// Where recipients take themselves off (RFC 8058): a mail program's POST does it at once, a person's after a look at the page and its button. A GET does
// nothing: programs that look at every link of a mail send those.
//
// Nobody is authenticated, so the token is all: who is meant is sealed in it. Whoever asks is counted by his address, before anything is looked at.

import type { Request, Response, Router } from 'express';
import express from 'express';

import type { Commands } from '../commands/index.ts';
import { badField, notFound } from '../domain/errors.ts';
import type { RateLimit } from '../domain/tenant.ts';
import type { RateLimiter } from '../ports/rate-limiter.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { UnsubscribeLinks } from '../ports/unsubscribe-links.ts';
import type { BodyMemory } from './body-memory.ts';
import { readBytes } from './body.ts';
import type { ClientAddresses } from './client-addresses.ts';
import { limitHeaders, rateLimited, tooManyRequests } from './rate-limit.ts';
import { refuseMethod } from './refuse-method.ts';
import { sendJson } from './respond.ts';

interface Dependencies {
  readonly log: Pick<EventLog, 'isErased' | 'isTenantErased'>;
  readonly links: Pick<UnsubscribeLinks, 'read'>;
  readonly commands: Pick<Commands, 'suppressRecipient'>;
  readonly limiter: RateLimiter;
  readonly addresses: Pick<ClientAddresses, 'keyOf'>;
  readonly bodies: BodyMemory;
}

const path = '/unsubscribe/:token';

/** Of one address: the servers of a large mail program speak for many people. Each that takes off somebody new appends an event. */
const perAddress: RateLimit = { limit: 1000, windowMs: 60_000 };

/** `List-Unsubscribe=One-Click` as a form of either kind: 26 bytes, or some 200 with a boundary. */
const bodyBytesMax = 4096;

export function createUnsubscribeRouter({ log, links, commands, limiter, addresses, bodies }: Dependencies): Router {
  const router = express.Router();

  /** @throws DomainError TOO_MANY_REQUESTS */
  const count = async (req: Request, res: Response): Promise<void> => {
    const forwardedFor = req.headers['x-forwarded-for'];
    const key = addresses.keyOf(
      req.socket.remoteAddress ?? '',
      forwardedFor === undefined ? undefined : String(forwardedFor),
    );
    const limited = rateLimited('unsubscribe', perAddress, await limiter.take(`unsubscribe:${key}`, perAddress));
    for (const [name, value] of Object.entries(limitHeaders(limited))) res.setHeader(name, value);
    if (!limited.decision.allowed) throw tooManyRequests(limited);
  };

  /** @throws DomainError PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE, BAD_REQUEST */
  const checkBody = async (req: Request): Promise<void> => {
    const room = bodies.roomFor('');
    try {
      const text = (await readBytes(req, room, bodyBytesMax)).toString('latin1');
      if (!oneClick.test(text))
        throw badField('List-Unsubscribe', 'must be One-Click, in a form: the body is List-Unsubscribe=One-Click');
    } finally {
      room.release();
    }
  };

  const serve = async (req: Request, res: Response): Promise<void> => {
    res.locals['route'] = path;
    const { method } = req;
    if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') return refuseMethod(req, res, 'GET, HEAD, POST');
    await count(req, res);
    if (method === 'POST') await checkBody(req);
    const who = links.read(String(req.params['token']));
    if (who === null || log.isErased(who.notificationId) || log.isTenantErased(who.tenantId))
      throw notFound('address to unsubscribe by');
    if (method !== 'POST') return sendPage(res, question);
    res.locals['tenantId'] = who.tenantId;
    const { tenantId, recipient } = who;
    await commands.suppressRecipient({ tenantId, recipient, channel: 'EMAIL', reason: 'unsubscribe', actor: null });
    if (req.headers.accept?.includes('text/html') === true) return sendPage(res, done);
    sendJson(res, 200, { message: 'You are unsubscribed.' }, headersOf(res));
  };

  router.all(path, (req, res) => serve(req, res));
  return router;
}

/** In a form of name and value, or in one of parts. */
const oneClick =
  /^List-Unsubscribe=One-Click\s*$|name="?List-Unsubscribe"?\r?\n(?:[^\r\n]+\r?\n)*\r?\nOne-Click\s*(?:\r?\n|$)/i;

function headersOf({ locals }: Response) {
  return { 'x-request-id': String(locals['requestId']), 'cache-control': 'no-store' };
}

function sendPage(res: Response, body: string): void {
  res.set({
    ...headersOf(res),
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    'x-robots-tag': 'noindex, nofollow',
  });
  res.send(pageOf(body));
}

/** No script, no style, nothing loaded, in nobody's frame: the button posts to where the page is from. */
const policy = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** Without an action a form is posted to the page's own address, whatever a proxy makes of it. */
const question = `<h1>Unsubscribe</h1>
    <p>You will get no more of these mails from this sender.</p>
    <form method="post">
      <input type="hidden" name="List-Unsubscribe" value="One-Click" />
      <button type="submit">Unsubscribe</button>
    </form>`;

const done = `<h1>You are unsubscribed</h1>
    <p>You get no more of these mails from this sender. You can close this page.</p>`;

function pageOf(body: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Unsubscribe</title>
  </head>
  <body>
    ${body}
  </body>
</html>
`;
}

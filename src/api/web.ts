// The pages for browsers (`/dashboard`, and `/inbox.js` for others' pages): files out of memory, compressed at the build, under a strict policy.

import type { RequestHandler, Response, Router } from 'express';
import express from 'express';

import { refuseMethod } from './refuse-method.ts';
import { sendJson } from './respond.ts';

/** A file as it was built. */
export interface WebAsset {
  /** From the root on: `/dashboard/assets/main-3F.js`. */
  readonly path: string;
  readonly type: string;
  /** Its name holds a hash of what is in it, so it never changes. */
  readonly isForever: boolean;
  readonly plain: Buffer;
  /** Absent where compressing doesn't make it smaller. */
  readonly br?: Buffer;
  readonly gzip?: Buffer;
}

/** By their paths. Rejects when they aren't built and can't be. */
export type LoadWebAssets = () => Promise<ReadonlyMap<string, WebAsset>>;

/** How people sign in to the dashboard: by the identity provider, or with a token that they paste. */
export type SignIn =
  | {
      readonly kind: 'issuer';
      readonly issuer: string;
      readonly clientId: string;
      readonly scope: string;
      readonly audience: string;
    }
  | {
      readonly kind: 'token';
      /** Outside production a tab keeps its token over a reload. */
      readonly keepsToken: boolean;
    };

interface Dependencies {
  readonly webAssets: LoadWebAssets;
  readonly signIn: SignIn;
}

export function createWebRouter({ webAssets, signIn }: Dependencies): Router {
  const router = express.Router();
  const policy = pagePolicy(signIn);
  const file =
    (headers: Readonly<Record<string, string>>): RequestHandler =>
    async (req, res, next) => {
      // A page's links are relative, so that it works under a proxy's path: they are from where it stands without the slash.
      if (req.path.endsWith('/')) return res.redirect(308, `../${req.path.split('/').at(-2)}`);
      const asset = (await webAssets()).get(req.path);
      if (asset === undefined) return next();
      // The smaller one where both are taken: most browsers name gzip first.
      const packing = packings.find((name) => req.acceptsEncodings(name) === name);
      send(asset, packing, res, headers);
    };
  const at = (path: string, route: string, serve: RequestHandler) =>
    router.all(path, (req, res, next) => {
      res.locals['route'] = route;
      if (req.method !== 'GET' && req.method !== 'HEAD') return refuseMethod(req, res, 'GET, HEAD');
      res.set('x-request-id', String(res.locals['requestId']));
      return serve(req, res, next);
    });
  at('/dashboard/sign-in.json', '/dashboard/sign-in.json', (_req, res) =>
    sendJson(res, 200, signIn, { 'cache-control': 'no-cache' }),
  );
  at('/dashboard', '/dashboard', file({ 'content-security-policy': policy }));
  at('/dashboard/content', '/dashboard/content', file({ 'content-security-policy': contentPolicy }));
  at('/dashboard/assets/:name', '/dashboard/assets/:name', file({}));
  for (const path of ['/inbox.js', '/inbox.d.ts']) at(path, path, file(sharedHeaders));
  return router;
}

/** Everything is from here, but for the tokens of an identity provider. Styles are files: nothing inline is let through. */
function pagePolicy(signIn: SignIn): string {
  const issuer = signIn.kind === 'issuer' ? ` ${new URL(signIn.issuer).origin}` : '';
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self'${issuer}`,
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** The frame in which a notification's own HTML is shown: it runs nothing, loads nothing and leads nowhere, but may have the styles of a mail. */
const contentPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-same-origin";

const packings = ['br', 'gzip'] as const;
const foreverSeconds = 31_536_000;

/** Pages of any origin load it, by a name that stays; what it may do there says the token that they give it. */
const sharedHeaders = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'public, max-age=300',
};

function send(
  asset: WebAsset,
  packing: (typeof packings)[number] | undefined,
  res: Response,
  headers: Readonly<Record<string, string>>,
): void {
  const { type, isForever, plain } = asset;
  res.set({
    'content-type': type,
    'cache-control': isForever ? `public, max-age=${foreverSeconds}, immutable` : 'no-cache',
    vary: 'accept-encoding',
    ...headers,
  });
  const packed = packing === undefined ? undefined : asset[packing];
  if (packed !== undefined && packing !== undefined) res.set('content-encoding', packing);
  res.send(packed ?? plain);
}

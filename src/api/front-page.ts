// `/`: what this is and where its documentation is, as a page for a browser and as JSON for a program.

import type { RequestHandler } from 'express';

import { refuseMethod } from './refuse-method.ts';
import { sendJson } from './respond.ts';

export const frontPage: RequestHandler = (req, res) => {
  res.locals['route'] = '/';
  if (req.method !== 'GET' && req.method !== 'HEAD') return refuseMethod(req, res, 'GET, HEAD');
  const headers = {
    'x-request-id': String(res.locals['requestId']),
    'cache-control': 'public, max-age=300',
    vary: 'accept',
  };
  if (req.headers.accept?.includes('text/html') !== true) return sendJson(res, 200, told, headers);
  res.set({ ...headers, 'content-type': 'text/html; charset=utf-8' });
  res.send(page);
};

const about = 'A multi-tenant notification service: email, SMS, webhooks and an in-app inbox.';

const told = {
  name: 'Herald',
  about,
  api: '/api/v1',
  dashboard: '/dashboard',
  docs: '/docs',
  openapi: '/openapi.json',
};

/** Its links are relative: it may stand below a proxy's path. */
const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Herald</title>
  </head>
  <body>
    <h1>Herald</h1>
    <p>${about}</p>
    <p><a href="dashboard">The dashboard</a></p>
    <p><a href="docs">The API, with every field, example and error</a>, and <a href="openapi.json">as an OpenAPI document</a>.</p>
  </body>
</html>
`;

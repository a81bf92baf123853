// Serves the document and its human page: the calls to begin with, then Swagger UI from its package, nothing from anywhere else.

import { gzip } from 'node:zlib';

import type { Request, Response, Router } from 'express';
import express from 'express';
import getSwaggerUiFolder from 'swagger-ui-dist/absolute-path.js';

import { firstCallsCss, firstCallsHtml, givenAddress } from './first-calls.ts';
import { refuseMethod } from '../refuse-method.ts';

interface Dependencies {
  /** Asked for once, when somebody first looks. */
  readonly document: () => Promise<unknown>;
}

/** `/openapi.json`, `/docs` and what the page loads. */
export function createDocsRouter({ document }: Dependencies): Router {
  let packed: Promise<Packed> | null = null;
  const pack = async (): Promise<Packed> => {
    const plain = Buffer.from(JSON.stringify(await document()));
    return { plain, gzip: await zipped(plain) };
  };
  const router = express.Router();
  const pages: readonly [path: string, serve: (res: Response, req: Request) => void | Promise<void>][] = [
    [
      '/openapi.json',
      async (res, req) => {
        packed ??= pack().catch((error: unknown) => {
          packed = null;
          throw error;
        });
        sendPacked(res, req, await packed);
      },
    ],
    ['/docs', (res) => send(res, 'text/html; charset=utf-8', page)],
    ['/docs/start.js', (res) => send(res, 'text/javascript; charset=utf-8', start)],
    ['/docs/first-calls.css', (res) => send(res, 'text/css; charset=utf-8', firstCallsCss)],
    ...assets.map((name): (typeof pages)[number] => [`/docs/${name}`, (res) => sendAsset(res, name)]),
  ];
  for (const [path, serve] of pages) {
    router.all(path, (req, res) => {
      res.locals['route'] = path;
      if (req.method !== 'GET' && req.method !== 'HEAD') return refuseMethod(req, res, 'GET, HEAD');
      // The page's links are relative, so that it works under a proxy's path: they are from where it stands without the slash.
      if (req.path.endsWith('/')) return res.redirect(308, `../${path.split('/').at(-1)}`);
      res.set({ 'x-request-id': String(res.locals['requestId']), 'content-security-policy': policy });
      return serve(res, req);
    });
  }
  return router;
}

const assets = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'];
const cacheSeconds = 300;

/** The page talks to this address alone; Swagger UI writes styles into its elements. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Herald API</title>
    <link rel="icon" type="image/png" href="docs/favicon-32x32.png" />
    <link rel="stylesheet" href="docs/swagger-ui.css" />
    <link rel="stylesheet" href="docs/first-calls.css" />
  </head>
  <body>
    ${firstCallsHtml()}
    <div id="docs"></div>
    <noscript>The document itself: <a href="openapi.json">/openapi.json</a></noscript>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`;

/** Without the validator's badge: it would ask an outside address. What is tried out goes to this service, under whatever path a proxy has it. */
const start = `const root = new URL('..', document.currentScript.src);
const dark = matchMedia('(prefers-color-scheme: dark)');
const colour = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
colour();
dark.addEventListener('change', colour);
const address = root.href.slice(0, -1);
for (const block of document.querySelectorAll('.first .code')) {
  const [code, button] = [block.querySelector('pre'), block.querySelector('button')];
  code.textContent = code.textContent.replaceAll('${givenAddress}', address);
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(code.textContent).then(() => (button.textContent = 'Copied'), () => getSelection().selectAllChildren(code));
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  });
}
// What Swagger UI leaves to be said to whoever doesn't see the page; it draws when it likes, so whenever it has.
const mend = () => {
  document.querySelector('#docs .information-container section')?.setAttribute('aria-label', 'About the API');
  document.querySelector('#docs .scheme-container section')?.setAttribute('aria-label', 'Address and keys');
  document.querySelector('#servers')?.setAttribute('aria-label', 'Path of the API');
  for (const choice of document.querySelectorAll('select.examples-select-element')) choice.setAttribute('aria-label', 'Example');
  // Its levels leave out the second one.
  for (const heading of document.querySelectorAll('#docs :is(h3, h4, h5, h6):not([aria-level])')) heading.setAttribute('aria-level', String(heading.tagName[1] - 1));
  // A button can't hold links; the button itself sets the address.
  for (const link of document.querySelectorAll('button a[href]')) link.removeAttribute('href');
};
new MutationObserver(mend).observe(document.querySelector('#docs'), { childList: true, subtree: true });
SwaggerUIBundle({
  url: new URL('openapi.json', root).href,
  dom_id: '#docs',
  deepLinking: true,
  validatorUrl: null,
  requestInterceptor(request) {
    const url = new URL(request.url, root);
    if (url.origin === root.origin && !url.pathname.startsWith(root.pathname)) url.pathname = root.pathname.slice(0, -1) + url.pathname;
    request.url = url.href;
    return request;
  },
});
`;

/** Made once: a text of 280 KiB would be made bytes for each who asks, and whoever asks needs no key. */
interface Packed {
  readonly plain: Buffer;
  readonly gzip: Buffer;
}

function zipped(bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) =>
    gzip(bytes, (error, smaller) => (error === null ? resolve(smaller) : reject(error))),
  );
}

function sendPacked(res: Response, req: Request, { plain, gzip: small }: Packed): void {
  const isSmall = req.acceptsEncodings('gzip') === 'gzip';
  if (isSmall) res.set('content-encoding', 'gzip');
  res.set({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': `public, max-age=${cacheSeconds}`,
    vary: 'accept-encoding',
  });
  res.send(isSmall ? small : plain);
}

function send(res: Response, type: string, body: string): void {
  res.set({ 'content-type': type, 'cache-control': `public, max-age=${cacheSeconds}` });
  res.send(body);
}

function sendAsset(res: Response, name: string): void {
  res.sendFile(name, { root: getSwaggerUiFolder(), maxAge: cacheSeconds * 1000, etag: false });
}

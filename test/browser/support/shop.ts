// A shop of another origin, with a <herald-inbox> in a plain page, in one of React's and in one of Vue's, and the backend that makes its tokens.

import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

import { createHerald } from '../../../clients/typescript/src/index.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export const kinds = ['plain', 'react', 'vue'] as const;
export type Kind = (typeof kinds)[number];

const scripts: Readonly<Record<Kind, string>> = {
  plain: `
    const inbox = document.createElement('herald-inbox');
    inbox.server = server;
    inbox.getToken = getToken;
    inbox.addEventListener('herald-unread', ({ detail }) => { document.title = String(detail.count); });
    document.querySelector('#app').append(inbox);`,
  react: `
    import { createElement, StrictMode } from 'react';
    import { createRoot } from 'react-dom/client';
    const onUnread = ({ detail }) => { document.title = String(detail.count); };
    const inbox = createElement('herald-inbox', { server, getToken, 'onherald-unread': onUnread });
    createRoot(document.querySelector('#app')).render(createElement(StrictMode, null, inbox));`,
  vue: `
    import { createApp, h } from 'vue';
    const onUnread = ({ detail }) => { document.title = String(detail.count); };
    const render = () => h('herald-inbox', { server, getToken, 'onHerald-unread': onUnread });
    createApp({ render }).mount('#app');`,
};

export interface Shop {
  readonly origin: string;
  /** Seconds that the tokens of its backend hold from now on. */
  lasting(seconds: number): void;
  /** Tokens that were asked for. */
  asked(): number;
  /** From when on there is a service to ask. @param seenAt where the pages find it */
  open(service: { readonly url: string; readonly apiKey: string; readonly seenAt: string }): void;
  close(): Promise<void>;
}

export async function startShop(): Promise<Shop> {
  const built = new Map<string, string>(
    await Promise.all(kinds.map(async (kind) => [`/${kind}.js`, await scriptOf(kind)] as const)),
  );
  let [seenAt, expiresInSeconds, asked] = ['', 3600, 0];
  let makeToken: (userId: string) => Promise<string> = () => Promise.reject(new Error('the shop is closed'));

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://shop');
    const [, kind = ''] = /^\/(\w+)$/.exec(pathname) ?? [];
    const script = built.get(pathname);
    if (script !== undefined) {
      response.setHeader('content-type', 'text/javascript').end(script);
    } else if (pathname === '/my-inbox-token') {
      asked++;
      response.end(await makeToken(searchParams.get('user') ?? ''));
    } else if (kinds.some((each) => each === kind)) {
      const policy = `default-src 'none'; script-src 'self' ${seenAt}; connect-src 'self' ${seenAt}; style-src 'none'`;
      response.setHeader('content-security-policy', policy);
      response.setHeader('content-type', 'text/html; charset=utf-8').end(pageOf(kind, seenAt));
    } else if (pathname === '/example') {
      const page = await readFile(`${root}docs/inbox.html`, 'utf8');
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(
        page.replaceAll('http://127.0.0.1:3000', seenAt).replace('/my-inbox-token', '/my-inbox-token?user=example'),
      );
    } else response.writeHead(404).end();
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lasting: (seconds) => void (expiresInSeconds = seconds),
    asked: () => asked,
    open(service) {
      ({ seenAt } = service);
      const herald = createHerald(service);
      makeToken = async (userId) => {
        const input = { path: { userId }, body: { expiresInSeconds } };
        return (await herald.request('POST /notify/inapp/{userId}/token', input)).token;
      };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const own = `
    const { server, user } = Object.fromEntries(new URLSearchParams(location.search));
    const getToken = async () => (await fetch('/my-inbox-token?user=' + user)).text();`;

async function scriptOf(kind: Kind): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: own + scripts[kind], resolveDir: root, loader: 'js' },
    bundle: true,
    format: 'esm',
    define: { 'process.env.NODE_ENV': '"production"' },
    write: false,
  });
  return outputFiles[0]?.text ?? '';
}

function pageOf(kind: string, seenAt: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>0</title>
    <script type="module" src="${seenAt}/inbox.js"></script>
    <script type="module" src="/${kind}.js"></script>
  </head>
  <body><main><h1>Shop</h1><div id="app"></div></main></body>
</html>`;
}

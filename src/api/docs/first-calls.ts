// The ten calls that people need, with which /docs opens: each as curl and by the typed client. Tests run all of them.

/** `$ID` and `id` are what the first one answers. */
export interface FirstCall {
  readonly title: string;
  readonly about: string;
  readonly curl: string;
  readonly typescript: string;
}

const json = "-H 'content-type: application/json'";
const byKey = '-H "x-api-key: $KEY"';
const byToken = '-H "authorization: Bearer $TOKEN"';

/** The page puts its own in its place. */
export const givenAddress = 'http://127.0.0.1:3000';

/** Once, before all of them. */
export const given = {
  curl: `API=${givenAddress}/api/v1
KEY=nk_...      # npm start prints it; GET /tenant shows it
TOKEN=eyJ...    # npm run -s herald -- token, or of your identity provider`,
  typescript: `import { createHerald } from '@herald-notifications/client';

const herald = createHerald({ url: '${givenAddress}', apiKey: 'nk_...', token: 'eyJ...' });`,
};

export const firstCalls: readonly FirstCall[] = [
  {
    title: 'Send a notification',
    about: 'By any channel. With an Idempotency-Key it may be repeated until it is answered, and goes out once.',
    curl: `curl -sS $API/notify ${byKey} ${json} -H 'idempotency-key: order-17' \\
  -d '{"channel":"IN_APP","recipient":"ada","subject":"Hello","body":"Your order {{ order }} has left the house","data":{"order":17}}'`,
    typescript: `const { notificationId: id } = await herald.notify(
  { channel: 'IN_APP', recipient: 'ada', subject: 'Hello', body: 'Your order {{ order }} has left the house', data: { order: 17 } },
  { idempotencyKey: 'order-17' },
);`,
  },
  {
    title: 'See what became of it',
    about: 'Its status, the last attempt, and when the next one is due.',
    curl: `curl -sS $API/notify/$ID ${byKey}`,
    typescript: `const { notification } = await herald.request('GET /notify/{id}', { path: { id } });`,
  },
  {
    title: 'Send many',
    about: 'Up to 10,000 in one call; each is checked by itself, and has a result of its own.',
    curl: `curl -sS $API/notify/batch ${byKey} ${json} \\
  -d '{"notifications":[{"channel":"IN_APP","recipient":"ada","body":"one"},{"channel":"IN_APP","recipient":"bo","body":"two"}]}'`,
    typescript: `const { results } = await herald.notifyBatch([
  { channel: 'IN_APP', recipient: 'ada', body: 'one' },
  { channel: 'IN_APP', recipient: 'bo', body: 'two' },
]);`,
  },
  {
    title: 'Save a provider',
    about: 'The account that a channel sends with: once, by a person’s token. IN_APP and WEBHOOK need none.',
    curl: `curl -sS $API/providers ${byToken} ${json} \\
  -d '{"channel":"EMAIL","provider":"resend","apiKey":"re_...","config":{"fromName":"Acme","fromEmail":"hello@acme.example"},"enabled":true}'`,
    typescript: `await herald.request('POST /providers', {
  body: {
    channel: 'EMAIL',
    provider: 'resend',
    apiKey: 're_...',
    config: { fromName: 'Acme', fromEmail: 'hello@acme.example' },
    enabled: true,
  },
});`,
  },
  {
    title: 'Make a template',
    about: 'A named text with placeholders; a notification names it in place of a body.',
    curl: `curl -sS $API/templates ${byToken} ${json} \\
  -d '{"name":"welcome","channel":"IN_APP","subject":"Welcome","body":"Good to see you, {{ name }}"}'`,
    typescript: `const template = await herald.request('POST /templates', {
  body: { name: 'welcome-2', channel: 'IN_APP', subject: 'Welcome', body: 'Good to see you, {{ name }}' },
});`,
  },
  {
    title: 'Find notifications',
    about: 'Newest first, by status, channel, recipient, time, words and more; page by page.',
    curl: `curl -sS "$API/notifications?status=FAILED&limit=20" ${byToken}`,
    typescript: `for await (const failed of herald.each('GET /notifications', { query: { status: 'FAILED' } })) {
  console.log(failed.id, failed.lastError);
}`,
  },
  {
    title: 'Send again what has failed',
    about: 'Whatever the filter finds, as a job; dryRun counts, and does nothing.',
    curl: `curl -sS $API/notifications/retry ${byToken} ${json} -d '{"filter":{"channel":"EMAIL"},"dryRun":true}'`,
    typescript: `const { matching } = await herald.request('POST /notifications/retry', {
  body: { filter: { channel: 'EMAIL' }, dryRun: true },
});`,
  },
  {
    title: 'Read an inbox',
    about: 'A recipient’s in-app notifications, and how many are unread.',
    curl: `curl -sS "$API/notify/inapp/ada?limit=20" ${byKey}`,
    typescript: `const { notifications, unreadCount } = await herald.request('GET /notify/inapp/{userId}', { path: { userId: 'ada' } });`,
  },
  {
    title: 'Let a browser show it',
    about: 'A token for one recipient’s inbox, for <herald-inbox> or a page of your own.',
    curl: `curl -sS -X POST $API/notify/inapp/ada/token ${byKey}`,
    typescript: `const { token } = await herald.request('POST /notify/inapp/{userId}/token', { path: { userId: 'ada' } });`,
  },
  {
    title: 'Follow what happens',
    about:
      'Every change of a status as it happens, for as long as the connection holds; the typed client takes it up again.',
    curl: `curl -sSN $API/dashboard/stream ${byToken}`,
    typescript: `for await (const { data } of herald.stream('GET /dashboard/stream')) {
  console.log(data);
}`,
  },
];

/** The section of the page; its buttons copy by docs/start.js. */
export function firstCallsHtml(): string {
  const calls = firstCalls.map(
    ({ title, about, curl, typescript }) => `
      <li>
        <h2>${escaped(title)}</h2>
        <p>${escaped(about)}</p>
        ${pairHtml(curl, typescript, title)}
      </li>`,
  );
  return `<section class="first" aria-labelledby="first">
      <h1 id="first">Ten calls to begin with</h1>
      <p>Given once:</p>
      ${pairHtml(given.curl, given.typescript, 'What is given once')}
      <ol>${calls.join('')}
      </ol>
      <p>Everything else follows: each call with its fields, examples and errors.</p>
    </section>`;
}

function pairHtml(curl: string, typescript: string, of: string): string {
  const block = (name: string, code: string) =>
    `<div class="code"><div class="bar"><span>${name}</span><button type="button" aria-label="Copy ${name} of: ${escaped(of)}">Copy</button></div><pre tabindex="0" aria-label="${name} of: ${escaped(of)}">${escaped(code)}</pre></div>`;
  return `<div class="pair">${block('curl', curl)}${block('TypeScript', typescript)}</div>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

export const firstCallsCss = `.first { max-width: 1460px; margin: 0 auto; padding: 1.5rem 20px 0; font: 1rem/1.5 system-ui, sans-serif; color: #1f2430; }
.first h1 { margin: 0 0 0.5rem; font-size: 1.75rem; }
.first h2 { margin: 0; font-size: 1.125rem; }
.first p { margin: 0.25rem 0 0.5rem; color: #474f60; }
.first ol { margin: 1.5rem 0; padding: 0; list-style: none; counter-reset: call; display: grid; gap: 1.5rem; }
.first li { counter-increment: call; }
.first li h2::before { content: counter(call) '. '; color: #5a6070; font-variant-numeric: tabular-nums; }
.first .pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr)); gap: 0.75rem; }
.first .code { min-width: 0; border: 1px solid #d5d9e2; border-radius: 8px; overflow: hidden; background: #f7f8fb; }
.first .bar { display: flex; justify-content: space-between; align-items: center; padding: 0.25rem 0.25rem 0.25rem 0.75rem; border-bottom: 1px solid #d5d9e2; font-size: 0.8125rem; color: #474f60; }
.first button { font: inherit; color: #1d4ed8; background: none; border: 0; border-radius: 4px; padding: 0.25rem 0.625rem; cursor: pointer; }
.first button:hover { background: #e6ebfa; }
.first :focus-visible { outline: 2px solid #1d4ed8; outline-offset: -2px; }
.first pre { margin: 0; padding: 0.75rem; overflow-x: auto; font: 0.8125rem/1.5 ui-monospace, monospace; color: #1f2430; }
html.dark-mode .first, html.dark-mode .first pre { color: #e4e6e6; }
html.dark-mode .first p, html.dark-mode .first .bar, html.dark-mode .first li h2::before { color: #b7bcbf; }
html.dark-mode .first .code { background: #0d1014; border-color: #3b4151; }
html.dark-mode .first .bar { border-color: #3b4151; }
html.dark-mode .first button { color: #94aeff; }
html.dark-mode .first button:hover { background: #232c4b; }
html.dark-mode .first :focus-visible { outline-color: #94aeff; }
/* Swagger UI's colours of less than 4.5 : 1. */
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #17663a; }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1b5a8c; }
.swagger-ui .opblock.opblock-put .opblock-summary-method { background: #7a4a00; }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #a51d1d; }
.swagger-ui .info .title small { background: #4d5464; }
.swagger-ui .info .title small.version-stamp { background: #3c6300; }
.swagger-ui .info .title small pre { color: #fff; }
html:not(.dark-mode) .swagger-ui .info a, html:not(.dark-mode) .swagger-ui .info .url { color: #1d4ed8; }
html:not(.dark-mode) .swagger-ui .btn.authorize { color: #17663a; border-color: #17663a; }
html:not(.dark-mode) .swagger-ui .btn.authorize svg { fill: #17663a; }
html:not(.dark-mode) .swagger-ui :is(.json-schema-2020-12-expand-deep-button, .parameter__in, .parameter__extension) { color: #474f60; }
html.dark-mode .swagger-ui .examples-select__section-label, html.dark-mode .swagger-ui .header-col { color: #e4e6e6; }
/* On a phone the cells of an unfolded call stand below one another: beside one another they were wider than the screen. */
@media (max-width: 640px) {
  .swagger-ui .opblock-body :is(.responses-table, .parameters) :is(thead, tbody, tr, td, th) { display: block; width: auto; max-width: 100%; min-width: 0; padding-left: 0; padding-right: 0; }
  .swagger-ui .opblock-body :is(.responses-table, .parameters) { display: block; }
  .swagger-ui .opblock-body :is(pre, code, input, textarea, select) { max-width: 100%; white-space: pre-wrap; overflow-wrap: anywhere; }
}
`;

// A stream by the package as it is published: prints each time that it is open and each body as it comes, until there were so many. Compiled and run apart from the tests.

import { createHerald } from '@herald-notifications/client';

const [url = '', apiKey = '', count = ''] = process.argv.slice(2);
const herald = createHerald({ url, apiKey });
const path = { userId: `stream-${process.version}` };
let told = 0;

for await (const { event, data } of herald.stream('GET /notify/inapp/{userId}/stream', { path })) {
  if (event === 'connected') console.log(event);
  if (event !== 'notification') continue;
  console.log(data.body);
  if (++told === Number(count)) break;
}
process.exit(0);

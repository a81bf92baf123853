// herald tail's stream: one on which nothing comes, not even a heartbeat, is cut and asked for again where it was.

import { expect, it } from '@jest/globals';

import type { Change } from '../../../src/main/tools/changes.ts';
import { streamedChanges } from '../../../src/main/tools/streamed-changes.ts';
import { startHttpSink } from '../../support/http-sink.ts';

it('silence is said and ended, and the stream goes on after the last message', async () => {
  const change = { notificationId: 'notif_a', status: 'QUEUED', channel: 'SMS', recipient: '+49', timestamp: 'T' };
  const sink = await startHttpSink({
    respond: (_, response) => {
      const isFirst = sink.requests.length === 1;
      const message = isFirst ? { event: 'connected' } : change;
      // Left open.
      response.write(`id: ${sink.requests.length}\ndata: ${JSON.stringify(message)}\n\n`);
    },
  });
  const said: string[] = [];
  const client = { url: sink.url };
  const changes = streamedChanges(
    client,
    async () => 't',
    (sentence) => said.push(sentence),
    { silenceMaxMs: 2_000 },
  );
  try {
    const { value } = (await changes.next()) as { value: Change };
    expect(value).toMatchObject(change);
    expect(said.slice(0, 2)).toEqual([
      'connected; changes from now on',
      expect.stringMatching(/^Nothing came for 2 s\. Connecting again in \d+(\.\d+)? s\.$/),
    ]);
    expect(sink.requests.slice(0, 2).map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '1']);
  } finally {
    await changes.return(undefined);
    await sink.close();
  }
});

// What a tenant is shown of a connection that fails: the reason, and nothing of this process.

import type { AddressInfo, Server } from 'node:net';
import { createServer } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createOutbound } from '../../src/adapters/http/outbound.ts';
import { notReached } from '../../src/channels/outcomes.ts';
import { createProviderRegistry } from '../../src/channels/registry.ts';
import type { Outbound } from '../../src/ports/outbound.ts';
import { OutboundError } from '../../src/ports/outbound.ts';
import { aDelivery, contextOf } from '../contracts/provider.ts';
import { wallClock } from '../support/wall-clock.ts';

const context = (apiKey: string, config = {}) =>
  contextOf({ channel: 'EMAIL', name: 'any' } as never, { settings: { apiKey, config } }, AbortSignal.timeout(10_000));

describe('a server that speaks no TLS where TLS is asked for', () => {
  let server: Server;
  let port: number;
  let outbound: Outbound;
  beforeEach(async () => {
    server = createServer((socket) => {
      socket.on('error', () => undefined).end('220 this is no TLS at all\r\n');
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    ({ port } = server.address() as AddressInfo);
    outbound = createOutbound({ allow: ['127.0.0.1/32'], clock: wallClock });
  });
  afterEach(async () => {
    await outbound.close();
    server.close();
  });

  it.each([
    ['WEBHOOK', 'custom', 'a signing secret of our own', {}],
    ['EMAIL', 'resend', 're_0123456789abcd', {}],
    ['EMAIL', 'ses', 'a secret access key', { region: 'eu-central-1', accessKeyId: 'AKIAIOSFODNN7EXAMPLE' }],
    ['EMAIL', 'smtp', 'the password', { secure: true, host: '127.0.0.1' }],
    ['SMS', 'twilio', '0f1e2d3c4b5a69788796a5b4c3d2e1f0', { accountSid: `AC${'0'.repeat(32)}`, from: '+15005550006' }],
  ] as const)(
    'is told as a reason by %s %s, without the thread and the source of OpenSSL',
    async (channel, name, apiKey, of) => {
      const config = channel === 'EMAIL' ? { fromName: 'Shop', fromEmail: 'shop@example.com', ...of } : of;
      const providerUrls = { [name]: `https://127.0.0.1:${port}` };
      const provider = createProviderRegistry({ outbound, clock: wallClock, providerUrls }).find(channel, name);
      const recipients = { WEBHOOK: `https://127.0.0.1:${port}/`, EMAIL: 'ada@example.com', SMS: '+4915112345678' };
      const outcome = await provider?.send(
        aDelivery({ recipient: recipients[channel] }),
        context(apiKey, name === 'smtp' ? { ...config, port } : config),
      );
      if (outcome?.kind !== 'retryable') throw new Error(`it is ${outcome?.kind}`);
      expect(outcome.reason.message).toMatch(/TLS error [0-9A-F]+: .*wrong version number/i);
      expect(outcome.reason.message).not.toMatch(/[0-9A-F]{8,}:error|routines|\.c:\d|deps/i);
    },
  );
});

it.each([
  ['connect ETIMEDOUT 192.0.2.1:443 - Local (10.0.0.5:54321)', 'connect ETIMEDOUT 192.0.2.1:443'],
  ['connect ECONNREFUSED 2001:db8::7:25 - Local (::1:40000)', 'connect ECONNREFUSED 2001:db8::7:25'],
  [
    'C0E7A4F6F07F0000:error:0A000438:SSL routines:ssl3_read_bytes:tlsv1 alert internal error:../deps/openssl/ssl/record/rec_layer_s3.c:916:SSL alert number 80\n',
    'TLS error 0A000438: tlsv1 alert internal error',
  ],
  [
    'Client network socket disconnected - Local time was wrong',
    'Client network socket disconnected - Local time was wrong',
  ],
])('of %j is kept %j', (said, kept) => {
  const outcome = notReached(new OutboundError('network', 'ANY', said), context('a key that is long'));
  expect(outcome).toMatchObject({ kind: 'retryable', reason: { message: kept } });
});

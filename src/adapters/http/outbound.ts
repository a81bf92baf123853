// The one way out: HTTP over undici's pools and raw TCP, both through the guard that checks the address at the moment of connecting.
//
// Connections are pooled per origin, so the guard and the name server are asked per connection, not per request.

import type { Socket } from 'node:net';
import { isIP } from 'node:net';

import type { Clock } from '../../ports/clock.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { Outbound, OutboundRequest, OutboundResponse } from '../../ports/outbound.ts';
import { OutboundError } from '../../ports/outbound.ts';
import { createAddressPolicy } from './guard-addresses.ts';
import { guardedConnector, guardedSocket } from './guard-connect.ts';
import type { LookUp } from './guard-names.ts';
import { createNameCache } from './guard-names.ts';
import { createUrlCheck } from './guard-urls.ts';
import { createHandshakes } from './handshakes.ts';
import { createLookUp } from './name-servers.ts';
import { createOrigins } from './origins.ts';
import { Exchange } from './outbound-exchange.ts';
import { createTlsClient } from './tls-client.ts';

export interface OutboundLimits {
  /** Requests to one origin at the same time; further ones wait for a connection, within their own deadline. */
  readonly connectionsPerOrigin: number;
  /** Of all origins together, beyond which those that aren't in use are closed, the longest at rest first. */
  readonly connections: number;
  /** How long an idle connection is kept, unless the server says less. Most servers close after 5 s or more; shorter than theirs means few races. */
  readonly keepAliveMs: number;
  readonly connectTimeoutMs: number;
  /** Behind the caller's deadline, for an answer that nobody waits for any more. */
  readonly answerTimeoutMs: number;
}

const defaultOutboundLimits: OutboundLimits = {
  connectionsPerOrigin: 256,
  connections: 1_024,
  keepAliveMs: 4_000,
  connectTimeoutMs: 10_000,
  answerTimeoutMs: 60_000,
};

export interface OutboundDependencies {
  /** Addresses and CIDRs that the guard lets through, with http too. */
  readonly allow: readonly string[];
  readonly clock: Clock;
  readonly metrics?: Metrics;
  readonly limits?: Partial<OutboundLimits>;
  /** Absent: the hosts file and the name servers of the system. */
  readonly lookUp?: LookUp;
}

/** @throws Error when `allow` has an entry that is no address */
export function createOutbound(dependencies: OutboundDependencies): Outbound {
  const limits = { ...defaultOutboundLimits, ...dependencies.limits };
  const policy = createAddressPolicy(dependencies.allow);
  const { clock, lookUp = createLookUp({ clock }) } = dependencies;
  const resolve = createNameCache({ clock, lookUp });
  const guard = { policy, resolve };
  const secureContext = createTlsClient();
  const sockets = new Set<Socket>();
  let exchanges = 0;
  dependencies.metrics?.gauge('herald_outbound_in_flight', () => exchanges + sockets.size);
  const { metrics } = dependencies;
  const takeHandshake = createHandshakes({ clock, metrics });
  const opened = (socket: Socket): void => origins.opened(socket);
  const { connectTimeoutMs } = limits;
  const origins = createOrigins({
    connections: limits.connections,
    connect: guardedConnector({ guard, secureContext, takeHandshake, connectTimeoutMs, opened }),
    pool: {
      connections: limits.connectionsPerOrigin,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: limits.keepAliveMs,
      keepAliveMaxTimeout: limits.keepAliveMs,
      headersTimeout: limits.answerTimeoutMs,
      bodyTimeout: limits.answerTimeoutMs,
    },
  });
  metrics?.gauge('herald_outbound_connections', () => origins.open());

  function exchange(
    request: OutboundRequest,
    done: (response: OutboundResponse) => void,
    failed: (error: OutboundError) => void,
  ): void {
    const { signal } = request;
    if (signal.aborted) return failed(new OutboundError('timeout', 'ETIMEDOUT', 'the deadline had passed'));
    const url = URL.parse(request.url);
    if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
      return failed(new OutboundError('blocked', 'URL_REFUSED', 'it is not an http or https URL'));
    }
    const { method, headers, body, tenantId = null } = request;
    const { origin, pathname, search } = url;
    const dispatched = { origin, path: pathname + search, method, headers, body };
    origins.dispatch(origin, tenantId, dispatched, new Exchange(signal, done, failed));
  }

  return {
    request: (request) =>
      new Promise((resolve, reject) => {
        exchanges++;
        exchange(
          request,
          (response) => {
            exchanges--;
            resolve(response);
          },
          (error) => {
            exchanges--;
            reject(error);
          },
        );
      }),
    async connect(to) {
      const socket = await guardedSocket(guard, to);
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return socket;
    },

    secureContext,
    takeHandshake,

    problemWithUrl: createUrlCheck(policy),

    async isAllowListed(host) {
      if (!policy.hasExemptions) return false;
      if (isIP(host) !== 0) return policy.isExempt(host);
      try {
        const addresses = await resolve(host);
        return addresses.length > 0 && addresses.every(({ address }) => policy.isExempt(address));
      } catch {
        return false;
      }
    },

    async close() {
      for (const socket of sockets) socket.destroy();
      await origins.destroy();
    },
  };
}

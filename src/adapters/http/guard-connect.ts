// Opens connections to checked addresses only: the name is resolved once, every address checked, and one of those connected to.
//
//   name ----> resolve ----> check each ----> connect to a checked one      (a second answer of the name server is never asked for)
//   literal -------------->  check it   ----> connect to it                 (net.connect calls no lookup hook for literals)

import { createRequire } from 'node:module';
import type { LookupFunction, Socket } from 'node:net';
import { connect as connectTcp, isIP } from 'node:net';
import type { SecureContext } from 'node:tls';

import type { buildConnector as BuildConnector } from 'undici';

import { OutboundError } from '../../ports/outbound.ts';
import { boundAnswers } from './answer-limits.ts';
import type { AddressPolicy, ConnectionUse } from './guard-addresses.ts';
import type { Resolve } from './guard-names.ts';
import type { TakeHandshake } from './handshakes.ts';
import type { Connect } from './origins.ts';
import { toOutboundError } from './outbound-errors.ts';

const buildConnector = createRequire(import.meta.url)('undici/lib/core/connect.js') as typeof BuildConnector;

interface Guard {
  readonly policy: AddressPolicy;
  readonly resolve: Resolve;
}

interface ConnectorOf {
  readonly guard: Guard;
  readonly secureContext: SecureContext;
  readonly takeHandshake: TakeHandshake;
  readonly connectTimeoutMs: number;
  /** Is told of each connection that one of undici's pools has taken. */
  readonly opened: (socket: Socket) => void;
}

/** The `connect` of undici's pools. A handshake with a tenant's receiver is begun when the tenant may have one more, on a connection that is open by then. */
export function guardedConnector({
  guard,
  secureContext,
  takeHandshake,
  connectTimeoutMs,
  opened,
}: ConnectorOf): Connect {
  const always = { allowH2: false, timeout: connectTimeoutMs };
  const https = buildConnector({ ...always, secureContext, lookup: guardedLookup(guard, 'https') });
  const httpsTcp = buildConnector({ ...always, lookup: guardedLookup(guard, 'https') });
  const plain = buildConnector({ ...always, lookup: guardedLookup(guard, 'plain-http') });

  function connectInTurn(options: BuildConnector.Options, callback: BuildConnector.Callback, tenantId: string): void {
    const tcp = { ...options, protocol: 'http:', port: options.port === '' ? '443' : options.port };
    httpsTcp(tcp, (failure, socket) => {
      if (failure !== null) return callback(failure, null);
      let isBegun = false;
      const refuse = (error: OutboundError): void => {
        socket.destroy();
        callback(error, null);
      };
      const begin = (over: (isWell: boolean) => void): void => {
        isBegun = true;
        if (socket.destroyed) {
          over(true);
          return refuse(
            new OutboundError('network', 'ECONNRESET', 'the receiver closed the connection before TLS began'),
          );
        }
        https({ ...options, httpSocket: socket }, (...came) => {
          over(came[0] === null);
          callback(...came);
        });
      };
      takeHandshake(tenantId, begin, refuse);
      // A server says nothing before it is greeted; that it has closed the connection is seen.
      if (!isBegun) socket.resume();
    });
  }

  return (options, taken, tenantId) => {
    const callback: BuildConnector.Callback = (...came) => {
      taken(...came);
      const [failure, socket] = came;
      if (failure !== null || socket.destroyed) return;
      boundAnswers(socket);
      opened(socket);
    };
    const use = options.protocol === 'https:' ? 'https' : 'plain-http';
    const refusal = refusalOfLiteral(guard.policy, options.hostname, use);
    if (refusal !== null) queueMicrotask(() => callback(refusal, null));
    else if (use === 'plain-http') plain(options, callback);
    else if (tenantId === null) https(options, callback);
    else connectInTurn(options, callback, tenantId);
  };
}

/** A TCP connection for a protocol that is not HTTP. @throws OutboundError */
export function guardedSocket(
  guard: Guard,
  to: { readonly host: string; readonly port: number; readonly signal: AbortSignal },
): Promise<Socket> {
  const { host, port, signal } = to;
  return new Promise((resolve, reject) => {
    const refusal = refusalOfLiteral(guard.policy, host, 'smtp');
    if (refusal !== null) return reject(refusal);
    if (signal.aborted) return reject(toOutboundError(null, signal));
    const socket = connectTcp({ host, port, lookup: guardedLookup(guard, 'smtp'), noDelay: true });
    // For as long as it lives: it may be reset while who has it awaits something else, and an error that nobody hears ends the process.
    socket.on('error', () => undefined);
    const settle = (error: Error | null): void => {
      signal.removeEventListener('abort', cut);
      socket.removeListener('connect', opened);
      socket.removeListener('error', settle);
      if (error === null) return resolve(socket);
      socket.destroy();
      reject(toOutboundError(error, signal));
    };
    const cut = (): void => settle(new Error('the deadline has passed'));
    const opened = (): void => settle(null);
    signal.addEventListener('abort', cut, { once: true });
    socket.once('connect', opened);
    socket.once('error', settle);
  });
}

function refusalOfLiteral(policy: AddressPolicy, host: string, use: ConnectionUse): OutboundError | null {
  const family = isIP(host);
  if (family === 0) return null;
  try {
    policy.choose(host, [{ address: host, family }], use);
    return null;
  } catch (error) {
    return toOutboundError(error, null);
  }
}

/** The lookup hook of net.connect, which goes on with the addresses that it is given and no others. */
function guardedLookup(guard: Guard, use: ConnectionUse): LookupFunction {
  return (host, options, callback) => {
    const answer = async (): Promise<void> => {
      try {
        const chosen = guard.policy.choose(host, await guard.resolve(host), use);
        const [first] = chosen;
        if (first === undefined) throw new OutboundError('network', 'ENOTFOUND', `${host} has no address`);
        if (options.all === true) callback(null, [...chosen]);
        else callback(null, first.address, first.family);
      } catch (error) {
        callback(error as Error, '', 0);
      }
    };
    void answer();
  };
}

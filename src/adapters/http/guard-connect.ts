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
import { toOutboundError } from './outbound-errors.ts';

const buildConnector = createRequire(import.meta.url)('undici/lib/core/connect.js') as typeof BuildConnector;

interface Guard {
  readonly policy: AddressPolicy;
  readonly resolve: Resolve;
}

/** The `connect` of undici's pools. @param opened is told of each connection that one of them has taken */
export function guardedConnector(
  guard: Guard,
  secureContext: SecureContext,
  limits: { readonly connectTimeoutMs: number },
  opened: (socket: Socket) => void,
): BuildConnector.connector {
  const timeout = limits.connectTimeoutMs;
  const https = buildConnector({ allowH2: false, timeout, secureContext, lookup: guardedLookup(guard, 'https') });
  const plain = buildConnector({ allowH2: false, timeout, lookup: guardedLookup(guard, 'plain-http') });

  return (options, taken) => {
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
    else if (use === 'https') https(options, callback);
    else plain(options, callback);
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
    const settle = (error: Error | null): void => {
      signal.removeEventListener('abort', cut);
      socket.removeListener('connect', opened);
      socket.removeListener('error', settle);
      if (error === null) return resolve(socket);
      socket.on('error', () => undefined);
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

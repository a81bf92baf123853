// Everything that goes out: through one guard that checks the resolved address when it connects, with a deadline and a limit on what is read.

import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';

export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  /** Whose receiver it is, where a tenant says where it is: what its connections cost is bounded for that tenant. */
  readonly tenantId?: string;
  /** The caller's deadline. */
  readonly signal: AbortSignal;
}

export interface OutboundResponse {
  readonly status: number;
  /** Names in lower case; of repeated ones the values joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** At most the first 64 KiB. */
  readonly body: string;
}

/**
 * Why nothing usable came back. `blocked`: the guard refused the address or the URL; `timeout`: the signal aborted;
 * `network`: names, connections, TLS, protocol. `code` is a stable short word such as ECONNREFUSED, ETIMEDOUT, ADDRESS_BLOCKED.
 */
export class OutboundError extends Error {
  readonly kind: 'blocked' | 'timeout' | 'network';
  readonly code: string;

  constructor(kind: OutboundError['kind'], code: string, message: string) {
    super(message);
    this.name = 'OutboundError';
    this.kind = kind;
    this.code = code;
  }
}

export interface Outbound {
  /** A redirect is an answer like any other, never followed. @throws OutboundError */
  request(request: OutboundRequest): Promise<OutboundResponse>;
  /** A raw TCP connection (SMTP). @throws OutboundError */
  connect(to: { readonly host: string; readonly port: number; readonly signal: AbortSignal }): Promise<Socket>;
  /** For who speaks TLS over `connect`. */
  readonly secureContext: SecureContext;
  /**
   * For him too: calls one of these once. @param begin when the tenant may have one more handshake under way, with what to call when it is over, whether it
   * came to a connection @param refuse with why, after 10 s: others of the tenant's fail
   */
  takeHandshake(
    tenantId: string,
    begin: (over: (isWell: boolean) => void) => void,
    refuse: (error: OutboundError) => void,
  ): void;
  /** What is wrong with a URL that a tenant wants called, without resolving names: scheme, private literals, credentials in it; null when nothing is. */
  problemWithUrl(url: string): string | null;
  /** Whether every address that the host resolves to is exempt from the guard by OUTBOUND_ALLOW. */
  isAllowListed(host: string): Promise<boolean>;
  /** Ends every connection, those of `connect` too; what is under way fails as a network error. */
  close(): Promise<void>;
}

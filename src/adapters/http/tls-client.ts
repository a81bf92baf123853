// How TLS is spoken to servers that tenants name: what a server may choose must not cost the thread that all tenants share more than a few milliseconds.

import { constants } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import { createSecureContext, DEFAULT_CIPHERS } from 'node:tls';

/**
 * Made once: a context reads the authorities' certificates, a quarter of what a connection costs.
 *
 * Without finite-field Diffie-Hellman (DHE), where the server chooses a prime of up to 10,000 bits, which is 0.9 s of processor time for whoever connects; every
 * server that has it has the elliptic curves, too, and TLS 1.3 names its groups. And no handshake is begun again on a connection that stands (TLS 1.2).
 */
export function createTlsClient(): SecureContext {
  return createSecureContext({
    ciphers: `${DEFAULT_CIPHERS}:!DHE`,
    minVersion: 'TLSv1.2',
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  });
}

// The TLS part of the settings: texts that can't work are refused before anything waits for a broker.

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';

import { StartRefusal } from './wait-until-up.ts';

/** PEM texts; `ca` null: those that the system trusts. */
export interface TlsSettings {
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

/** @throws StartRefusal naming the setting */
export function tlsOptions({ ca, cert, key }: TlsSettings): ConnectionOptions {
  // Node.js takes an authority's file without a certificate for one that trusts nobody.
  if (ca !== null) certificateOf(ca, 'KAFKA_TLS_CA');
  const shown = cert === null ? null : certificateOf(cert, 'KAFKA_TLS_CERT');
  const own = key === null ? null : privateKeyOf(key);
  if (shown !== null && own !== null && !shown.checkPrivateKey(own))
    throw new StartRefusal('KAFKA_TLS_KEY: is not the key of the certificate of KAFKA_TLS_CERT.');
  return { ...(ca === null ? {} : { ca }), ...(cert === null ? {} : { cert }), ...(key === null ? {} : { key }) };
}

function certificateOf(pem: string, setting: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new StartRefusal(`${setting}: should be a file with a certificate in PEM form.`);
  }
}

function privateKeyOf(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new StartRefusal('KAFKA_TLS_KEY: should be a file with a private key in PEM form, without a passphrase.');
  }
}

// A broker of a test's own that wants TLS, with a user by PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 on one listener, with a certificate on the other.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type Authority, type Certificates, type Issued, makeCertificates } from './certificates.ts';
import { type OwnKafka, startOwnKafka } from './engine-control.ts';

export type Mechanism = 'plain' | 'scram-sha-256' | 'scram-sha-512';

export interface SecuredKafka {
  /** Addresses: without TLS, for a user, for a certificate. */
  readonly plaintext: string;
  readonly saslSsl: string;
  readonly ssl: string;
  readonly authority: Authority;
  /** Signed by `authority`. */
  readonly client: Issued;
  /** Nobody's authority, and a certificate of its making. */
  readonly otherAuthority: Authority;
  readonly stranger: Issued;
  readonly username: string;
  readonly passwords: Readonly<Record<Mechanism, string>>;
  stop(): Promise<void>;
}

const username = 'herald';
const passwords = { plain: 'pw-plain-7319', 'scram-sha-256': 'pw-256-7319', 'scram-sha-512': 'pw-512-7319' };
const loginModules = 'org.apache.kafka.common.security';

export async function startSecuredKafka(): Promise<SecuredKafka> {
  const certificates = await makeCertificates();
  try {
    const authority = await certificates.makeAuthority('authority');
    const otherAuthority = await certificates.makeAuthority('other-authority');
    const client = await authority.issue('client');
    const stranger = await otherAuthority.issue('stranger');
    const kafka = await startBroker(certificates, authority);
    return {
      plaintext: kafka.address,
      saslSsl: kafka.further.get('SASL_SSL') ?? '',
      ssl: kafka.further.get('SSL') ?? '',
      authority,
      client,
      otherAuthority,
      stranger,
      username,
      passwords,
      async stop() {
        await kafka.stop();
        await certificates.remove();
      },
    };
  } catch (error) {
    await certificates.remove();
    throw error;
  }
}

/** Kafka takes PEM; the key store is one file of key and certificate. The certificate is for 127.0.0.1 alone, not for localhost. */
async function startBroker(certificates: Certificates, authority: Authority): Promise<OwnKafka> {
  const broker = await authority.issue('broker', 'IP:127.0.0.1');
  const keyStore = join(certificates.folder, 'broker-store.pem');
  await writeFile(keyStore, broker.key + broker.cert, { mode: 0o600 });
  const scram = ['scram-sha-256', 'scram-sha-512'] as const;
  return startOwnKafka({
    brokers: 1,
    security: {
      listeners: ['SASL_SSL', 'SSL'],
      conf: [
        'ssl.keystore.type=PEM',
        `ssl.keystore.location=${keyStore}`,
        'ssl.truststore.type=PEM',
        `ssl.truststore.location=${authority.certFile}`,
        'listener.name.ssl.ssl.client.auth=required',
        'sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
        jaas('plain', `plain.PlainLoginModule required user_${username}="${passwords.plain}"`),
        ...scram.map((mechanism) => jaas(mechanism, 'scram.ScramLoginModule required')),
      ],
      scramUsers: scram.map((mechanism) => ({
        mechanism: mechanism.toUpperCase(),
        name: username,
        password: passwords[mechanism],
      })),
    },
  });
}

function jaas(mechanism: Mechanism, module: string): string {
  return `listener.name.sasl_ssl.${mechanism}.sasl.jaas.config=${loginModules}.${module};`;
}

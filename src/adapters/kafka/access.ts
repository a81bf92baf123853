// What keeps us from brokers that are there, told in terms of the settings: certificates, user, mechanism. Never holds a secret.

import { answeredError, causesOf } from './kafka-errors.ts';

/** What a person has to mend, in a sentence; null: it may pass. */
export function accessProblem(error: unknown): string | null {
  return tlsProblem(error) ?? saslProblem(error);
}

/** For the log of a wait: where listener and settings may not fit, it asks. Only asks, since brokers that are slow or go down do the same. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const isUnclear = misfits.some((text) => message.includes(text));
  return isUnclear ? `${message} (do KAFKA_TLS and KAFKA_SASL_MECHANISM fit the brokers' listener?)` : message;
}

/** kafkajs starts an authentication anew on the connection on which one timed out: the broker's answer is this one as well. */
const illegalState = 'Request is not valid given the current SASL state';
const misfits = ['Closed connection', 'disconnected before secure TLS connection was established', illegalState];

/** OpenSSL's words for a certificate that can't be verified; Node.js has them as codes. */
const untrusted = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** The alerts of RFC 8446, section 6.2, that are about the certificate of whoever gets them. */
const refusedByBroker =
  /_ALERT_(BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_(REVOKED|EXPIRED|UNKNOWN|REQUIRED)|UNKNOWN_CA|ACCESS_DENIED)$/;

function tlsProblem(error: unknown): string | null {
  for (const cause of causesOf(error)) {
    // Of kafkajs' errors alone: the registry's connection has certificates too.
    const code: unknown = cause.name === 'KafkaJSConnectionError' ? Reflect.get(cause, 'code') : null;
    if (typeof code !== 'string') continue;
    const broker = String(Reflect.get(cause, 'broker'));
    if (untrusted.has(code))
      return `The certificate of Kafka's broker ${broker} is not trusted (${code}): KAFKA_TLS_CA should be the PEM file of the authority that signed it.`;
    if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
      return `The certificate of Kafka's broker ${broker} is for another host: KAFKA_BROKERS and what the brokers advertise should be names that it holds.`;
    if (refusedByBroker.test(code))
      return `Kafka's broker ${broker} wants a certificate that it trusts (${code}): see KAFKA_TLS_CERT and KAFKA_TLS_KEY.`;
  }
  return null;
}

/**
 * kafkajs has the same error for an answer that says no and for a connection that broke before one came: of the latter it keeps the text alone.
 * What is none of these texts is taken for an answer.
 */
const unanswered = /: (Closed connection|Connection (error|timeout)\b.*|Request .* timed out|Not connected)$/s;

function saslProblem(error: unknown): string | null {
  if (answeredError(error) === 'UNSUPPORTED_SASL_MECHANISM')
    return 'Kafka does not offer the mechanism of KAFKA_SASL_MECHANISM on the listener of KAFKA_BROKERS.';
  const refused = causesOf(error).find(({ name }) => name === 'KafkaJSSASLAuthenticationError');
  if (refused === undefined || unanswered.test(refused.message) || refused.message.includes(illegalState)) return null;
  return `Kafka does not let this user in (${refused.message}): see KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD and KAFKA_SASL_MECHANISM.`;
}

// Which of kafkajs' errors are a person's to mend, and which may pass.

import { describe, expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';

import { accessProblem, reasonOf } from '../../../src/adapters/kafka/access.ts';

const { KafkaJSConnectionError, KafkaJSNonRetriableError, KafkaJSNumberOfRetriesExceeded } = kafkajs;

const givenUp = (cause: Error) =>
  new KafkaJSNumberOfRetriesExceeded(Object.assign(cause, { retriable: true }), { retryCount: 4, retryTime: 800 });
const atBroker = (code: string) => new KafkaJSConnectionError('Connection error: no', { broker: 'kafka:9093', code });
/** As kafkajs throws it; its types don't let us make one with a text. */
const unauthenticated = (text: string) =>
  Object.assign(new KafkaJSNonRetriableError(`SASL PLAIN authentication failed: ${text}`), {
    name: 'KafkaJSSASLAuthenticationError',
  });

describe('what keeps us from the brokers', () => {
  it.each([
    ['SELF_SIGNED_CERT_IN_CHAIN', 'KAFKA_TLS_CA'],
    ['CERT_HAS_EXPIRED', 'KAFKA_TLS_CA'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'KAFKA_BROKERS'],
    ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', 'KAFKA_TLS_CERT'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'KAFKA_TLS_CERT'],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'KAFKA_TLS_CERT'],
  ])('is a certificate at %s, after retries as well: the broker and %s are named', (code, setting) => {
    expect(accessProblem(atBroker(code))).toContain(setting);
    expect(accessProblem(givenUp(atBroker(code)))).toContain('kafka:9093');
  });

  it.each([
    ['a broker that is away', atBroker('ECONNREFUSED')],
    ['a connection that was reset', atBroker('ECONNRESET')],
    ['a broker that goes down while it authenticates us', unauthenticated('Closed connection')],
    [
      'a broker that hangs while it authenticates us',
      unauthenticated('Request SaslAuthenticate(key: 36, version: 1) timed out'),
    ],
    [
      'an authentication begun anew where one timed out',
      unauthenticated('Request is not valid given the current SASL state'),
    ],
    ['a reset while it authenticates us', unauthenticated('Connection error: read ECONNRESET')],
    ["a certificate of another engine's", Object.assign(new Error('no'), { code: 'SELF_SIGNED_CERT_IN_CHAIN' })],
  ])('is not %s', (_, error) => {
    expect(accessProblem(error)).toBeNull();
    expect(accessProblem(givenUp(error))).toBeNull();
  });

  it("is a user that the broker refuses, in the broker's words", () => {
    const problem = accessProblem(givenUp(unauthenticated('Authentication failed: Invalid username or password')));
    expect(problem).toContain('Invalid username or password');
    expect(problem).toContain('KAFKA_SASL_PASSWORD');
  });

  it('is a mechanism that the broker does not offer', () => {
    const error = Object.assign(new KafkaJSNonRetriableError('no'), { type: 'UNSUPPORTED_SASL_MECHANISM' });
    expect(accessProblem(error)).toContain('KAFKA_SASL_MECHANISM');
  });
});

describe('the reason for waiting', () => {
  it('asks about the settings only where a broker has hung up', () => {
    expect(reasonOf(new Error('Closed connection'))).toContain('KAFKA_TLS');
    expect(reasonOf(new Error('Connection error: connect ECONNREFUSED'))).not.toContain('KAFKA_TLS');
  });
});

// Text messages as the APIs of Vonage, Bird, Amazon SNS and Plivo see them, and what their errors mean.

import { describe, expect, it } from '@jest/globals';

import { awsError } from '../support/stand-ins/aws-check.ts';
import type { ProviderStandIn, StandInAnswer } from '../support/stand-ins/http-stand-in.ts';
import { json } from '../support/stand-ins/http-stand-in.ts';
import { birdKeyInFlight, birdKeyReused, messagebirdStandIn } from '../support/stand-ins/messagebird.ts';
import { plivoStandIn } from '../support/stand-ins/plivo.ts';
import { snsStandIn } from '../support/stand-ins/sns.ts';
import { vonageStandIn } from '../support/stand-ins/vonage.ts';
import type { HttpApi } from './http-apis.ts';
import { addressOf, httpApi } from './http-apis.ts';

const id = 'notif_0abcdefghjkmnpqrstvwxyz012';
const formOf = (api: HttpApi, n = 0) => Object.fromEntries(new URLSearchParams(api.standIn().requests[n]?.body));

describe.each<ProviderStandIn>([vonageStandIn, messagebirdStandIn, snsStandIn, plivoStandIn])(
  'a text message by $traits.name',
  (standIn) => {
    const api = httpApi(standIn);

    it('goes to nobody when the recipient is not one number', async () => {
      for (const recipient of ['+4917012345<+4917012346', '+4917012345,+4917012346', '017012345', '+0170123456', '']) {
        expect(await api.send({ recipient })).toMatchObject({
          kind: 'rejected',
          reason: { failureClass: 'recipient', code: 'BAD_RECIPIENT' },
        });
      }
      expect(api.standIn().requests).toEqual([]);
    });
  },
);

describe('a text message by Vonage', () => {
  const api = httpApi(vonageStandIn);

  it('names numbers without +, and an id that every try of a round has', async () => {
    for (const round of [1, 1, 2]) await api.send({ round });
    expect([0, 1, 2].map((n) => formOf(api, n)['client-ref'])).toEqual([id, id, `${id}.2`]);
    expect(formOf(api)).toMatchObject({ to: '491701234567', from: 'AcmeInc', text: 'Hello Ada' });
  });

  it.each([
    ['Grüße: 5 € {ok} ~ [Ω] \n', 'text'],
    ['Zażółć', 'unicode'],
    ['👍', 'unicode'],
  ])('%j goes as %s', async (body, type) => {
    await api.send({ request: { body } });
    expect(formOf(api)).toMatchObject({ type, text: body });
  });

  const failed = (status: string, text = 'why', http = 200) =>
    json(http, { 'message-count': '1', messages: [{ status, 'error-text': text }] });

  it.each<readonly [string, StandInAnswer, string, string]>([
    ['1', failed('1'), 'retryable', 'provider'],
    ['2', failed('2', 'Missing to param'), 'rejected', 'recipient'],
    ['2', failed('2', 'Missing text param'), 'rejected', 'content'],
    ['3', failed('3', 'Invalid from param'), 'rejected', 'credentials'],
    ['4', failed('4'), 'rejected', 'credentials'],
    ['5', failed('5'), 'retryable', 'provider'],
    ['6', failed('6'), 'rejected', 'recipient'],
    ['7', failed('7'), 'rejected', 'recipient'],
    ['8', failed('8'), 'rejected', 'credentials'],
    ['9', failed('9'), 'rejected', 'credentials'],
    ['10', failed('10'), 'retryable', 'provider'],
    ['12', failed('12'), 'rejected', 'content'],
    ['15', failed('15'), 'rejected', 'credentials'],
    ['29', failed('29', 'Non White-listed Destination - rejected'), 'rejected', 'credentials'],
    ['33', failed('33'), 'rejected', 'recipient'],
    ['99', failed('99'), 'rejected', 'content'],
    ['1', failed('1', 'why', 429), 'retryable', 'provider'],
    ['429', { status: 429, body: '' }, 'retryable', 'provider'],
    ['401', { status: 401, body: '' }, 'rejected', 'credentials'],
  ])('answered with status %s', async (code, answer, kind, failureClass) => {
    api.standIn().answer(answer);
    expect(await api.send()).toMatchObject({ kind, reason: { failureClass, code } });
  });

  it('of which one part was refused is not delivered', async () => {
    const part = (status: string) => ({ status, 'message-id': `id-${status}` });
    api.standIn().answer(json(200, { 'message-count': '2', messages: [part('0'), part('9')] }));
    expect(await api.send()).toMatchObject({ kind: 'rejected', reason: { failureClass: 'credentials', code: '9' } });
  });
});

describe('a text message by Bird', () => {
  const api = httpApi(messagebirdStandIn);

  it('has an Idempotency-Key that every try of a round has', async () => {
    for (const round of [1, 1, 2]) await api.send({ round });
    const keys = api.standIn().requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toEqual([id, id, `${id}.2`]);
  });

  it('says what it is', async () => {
    await api.send();
    await api.send({}, { category: 'authentication' });
    const categories = api.standIn().requests.map(({ body }) => JSON.parse(body).category);
    expect(categories).toEqual(['transactional', 'authentication']);
  });

  const failed = (status: number, type: string, more = {}) =>
    json(status, { error: { type, code: 'E09999', message: 'why', ...more } });

  it.each<readonly [string, StandInAnswer, string, string, string]>([
    ['a key in flight', birdKeyInFlight, 'retryable', 'provider', 'E01004'],
    ['a key of another message', birdKeyReused, 'rejected', 'content', 'E01005'],
    ['money', failed(402, 'billing_error'), 'rejected', 'credentials', 'E09999'],
    ['another region', failed(421, 'misdirected_error'), 'rejected', 'credentials', 'E09999'],
    ['a sender', failed(422, 'validation_error', { param: 'from' }), 'rejected', 'credentials', 'E09999'],
    ['a recipient', failed(422, 'validation_error', { param: 'to' }), 'rejected', 'recipient', 'E09999'],
    ['a text', failed(422, 'validation_error', { param: 'text' }), 'rejected', 'content', 'E09999'],
    ['a field not meant', failed(422, 'validation_error', { param: 'total' }), 'rejected', 'content', 'E09999'],
    ['a gateway', { status: 502, body: '<html>' }, 'retryable', 'provider', '502'],
    ['a status alone', { status: 403, body: '' }, 'rejected', 'credentials', '403'],
  ])('refused for %s', async (_, answer, kind, failureClass, code) => {
    api.standIn().answer(answer);
    expect(await api.send()).toMatchObject({ kind, reason: { failureClass, code } });
  });
});

describe('a text message by Amazon SNS', () => {
  const api = httpApi(snsStandIn);

  it('names its sender as what it is, and its type', async () => {
    await api.send();
    await api.send({}, { from: '+14255550123', smsType: 'Promotional' });
    await api.send({}, { from: undefined });
    const attributes = [0, 1, 2].map((n) => {
      const entries = Object.entries(formOf(api, n)).filter(([name]) => /\.(Name|StringValue)$/.test(name));
      return entries.map(([, value]) => value);
    });
    const type = 'AWS.SNS.SMS.SMSType';
    expect(attributes).toEqual([
      [type, 'Transactional', 'AWS.SNS.SMS.SenderID', 'AcmeInc'],
      [type, 'Promotional', 'AWS.MM.SMS.OriginationNumber', '+14255550123'],
      [type, 'Transactional'],
    ]);
  });

  it.each<readonly [string, StandInAnswer, string, string]>([
    ['OptedOut', awsError(400, 'OptedOut', 'why'), 'rejected', 'recipient'],
    ['InvalidParameter', awsError(400, 'InvalidParameter', 'Invalid parameter: Message'), 'rejected', 'content'],
    ['InvalidParameter', awsError(400, 'InvalidParameter', 'AWS.SNS.SMS.SenderID'), 'rejected', 'credentials'],
    ['AuthorizationError', awsError(403, 'AuthorizationError', 'why'), 'rejected', 'credentials'],
    ['InvalidClientTokenId', awsError(403, 'InvalidClientTokenId', 'why'), 'rejected', 'credentials'],
    ['Throttling', awsError(400, 'Throttling', 'Rate exceeded'), 'retryable', 'provider'],
    ['RequestExpired', awsError(400, 'RequestExpired', 'why'), 'retryable', 'provider'],
    ['InternalError', awsError(500, 'InternalError', 'why'), 'retryable', 'provider'],
    ['404', { status: 404, body: '' }, 'rejected', 'provider'],
  ])('refused with %s', async (code, answer, kind, failureClass) => {
    api.standIn().answer(answer);
    expect(await api.send()).toMatchObject({ kind, reason: { failureClass, code } });
  });
});

describe('a text message by Plivo', () => {
  const api = httpApi(plivoStandIn);

  it('names numbers without +, or a powerpack', async () => {
    api.standIn().behave('success', '');
    expect(await api.send()).toMatchObject({ kind: 'delivered' });
    const powerpack = '86bbb125-97bb-4d72-89fd-81d5c515b015';
    await api.send({}, { from: powerpack });
    const [first, second] = api.standIn().requests.map(({ body }) => JSON.parse(body));
    expect(first).toEqual({ src: '4930123456', dst: '491701234567', text: 'Hello Ada' });
    expect(second).toEqual({ powerpack_uuid: powerpack, dst: '491701234567', text: 'Hello Ada' });
  });

  const failed = (status: number, error: string) => json(status, { api_id: 'a', error });

  it.each<readonly [string, StandInAnswer, string, string]>([
    ['a number', failed(400, "'1111111' is not a valid phone number."), 'rejected', 'recipient'],
    ['dst', failed(400, 'dst parameter not present'), 'rejected', 'recipient'],
    ['src', failed(400, 'src is not a valid phone number for this account'), 'rejected', 'credentials'],
    ['a powerpack', failed(400, 'Powerpack UUID is not valid'), 'rejected', 'credentials'],
    ['a text', failed(400, 'text parameter not present'), 'rejected', 'content'],
    ['money', failed(402, 'insufficient credit'), 'rejected', 'credentials'],
    ['an account', failed(404, 'not found'), 'rejected', 'credentials'],
    ['a method', failed(405, 'not allowed'), 'rejected', 'provider'],
    ['a gateway', { status: 502, body: '<html>' }, 'retryable', 'provider'],
  ])('refused for %s', async (_, answer, kind, failureClass) => {
    api.standIn().answer(answer);
    expect(await api.send()).toMatchObject({ kind, reason: { failureClass, code: String(answer.status) } });
  });
});

describe('the address of an SMS API', () => {
  it.each([
    [vonageStandIn, {}, 'https://rest.nexmo.com/sms/json'],
    [messagebirdStandIn, {}, 'https://eu1.platform.bird.com/v1/sms/messages'],
    [messagebirdStandIn, { apiKey: 'bk_us1_abc' }, 'https://us1.platform.bird.com/v1/sms/messages'],
    [snsStandIn, {}, 'https://sns.eu-west-1.amazonaws.com/'],
    [plivoStandIn, {}, 'https://api.plivo.com/v1/Account/MAXXXXXXXXXXXXXXXXXX/Message/'],
  ])('is that of the account: %#', async (standIn, over, url) => {
    expect(await addressOf(standIn, over)).toBe(url);
  });
});

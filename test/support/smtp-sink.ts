// A local mail server (smtp-server) that keeps the mails that it takes, parsed, and refuses as it is told.

import type { AddressInfo } from 'node:net';

import type { Email } from 'postal-mime';
import PostalMime from 'postal-mime';
import type { SMTPServerAuthentication } from 'smtp-server';
import { SMTPServer } from 'smtp-server';

import { localhostCertificate, localhostKey } from './localhost-certificate.ts';

export interface SinkMail {
  readonly from: string;
  readonly to: readonly string[];
  /** The login of its connection; null without one. */
  readonly user: string | null;
  readonly encrypted: boolean;
  /** What its client said in EHLO. */
  readonly heloName: string;
  readonly email: Email;
  /** As it came. */
  readonly raw: string;
}

export interface SmtpRefusal {
  readonly at: 'login' | 'sender' | 'recipient' | 'data';
  /** Of a recipient: this one alone. */
  readonly of?: string;
  readonly code: number;
  readonly message: string;
}

export interface SmtpSink {
  readonly port: number;
  readonly mails: SinkMail[];
  readonly logins: SMTPServerAuthentication[];
  /** Taken so far, and open now. */
  connections(): number;
  open(): number;
  /** From now on; null: everything is taken. */
  refuse(refusal: SmtpRefusal | null): void;
  /** Mails are read and never answered. */
  hang(): void;
  /** Mails read and not answered. */
  held(): number;
  /** Closes what is connected, as a server does that is tired of idle clients. */
  disconnectAll(): void;
  close(): Promise<void>;
}

export interface SmtpSinkOptions {
  /** STARTTLS is offered, with a certificate that nobody signed. */
  readonly startTls?: boolean;
  /** No login is offered. */
  readonly withoutLogin?: boolean;
  /** Mail of a client that says an address in EHLO is refused, as Google's relay does it. */
  readonly refusesBareAddresses?: boolean;
  /** Asked about each mail that is read to its end: null takes it, a refusal says no, 'hang' never answers. */
  readonly answer?: (mail: SinkMail) => Pick<SmtpRefusal, 'code' | 'message'> | 'hang' | null;
}

export async function startSmtpSink(options: SmtpSinkOptions = {}): Promise<SmtpSink> {
  const { startTls = false, withoutLogin = false, refusesBareAddresses = false, answer = () => null } = options;
  const mails: SinkMail[] = [];
  const logins: SMTPServerAuthentication[] = [];
  let refusal: SmtpRefusal | null = null;
  let hangs = false;
  let connections = 0;
  let held = 0;

  const refusalAt = (at: SmtpRefusal['at']): Error | null => {
    if (refusal?.at !== at) return null;
    return refusalOf(refusal);
  };

  const server = new SMTPServer({
    key: localhostKey,
    cert: localhostCertificate,
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: [...(startTls ? [] : ['STARTTLS']), ...(withoutLogin ? ['AUTH'] : [])],
    onConnect(_, callback) {
      connections++;
      callback();
    },
    onAuth(auth, _, callback) {
      logins.push(auth);
      const error = refusalAt('login');
      if (error === null) callback(null, { user: auth.username });
      else callback(error);
    },
    onMailFrom(_, { hostNameAppearsAs }, callback) {
      const isBare = refusesBareAddresses && /^\[|^[\d.]+$/.test(hostNameAppearsAs);
      callback(isBare ? refusalOf(bareAddress) : refusalAt('sender'));
    },
    onRcptTo({ address }, _, callback) {
      const isMeant = refusal?.of === undefined || refusal.of === address;
      callback(isMeant ? refusalAt('recipient') : null);
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (hangs) {
          held++;
          return;
        }
        const error = refusalAt('data');
        if (error !== null) return callback(error);
        const raw = Buffer.concat(chunks);
        void PostalMime.parse(raw).then((email) => {
          const { mailFrom, rcptTo } = session.envelope;
          const mail: SinkMail = {
            from: mailFrom === false ? '' : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            user: session.user ?? null,
            encrypted: session.secure,
            heloName: session.hostNameAppearsAs,
            email,
            raw: raw.toString('latin1'),
          };
          const answered = answer(mail);
          if (answered === 'hang') {
            held++;
            return;
          }
          if (answered !== null) return callback(refusalOf(answered));
          mails.push(mail);
          callback();
        });
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    logins,
    connections: () => connections,
    open: () => server.connections.size,
    refuse: (next) => (refusal = next),
    hang: () => (hangs = true),
    held: () => held,
    disconnectAll: () => [...server.connections].forEach((connection) => connection.close()),
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

const bareAddress = { code: 550, message: '5.7.1 Invalid EHLO name' };

function refusalOf({ code, message }: Pick<SmtpRefusal, 'code' | 'message'>): Error {
  return Object.assign(new Error(message), { responseCode: code });
}

// Connections to tenants' mail servers: opened through the guard, logged in, kept for a few seconds after a mail, never shared between settings.
//
//   open ---> (STARTTLS) ---> (login) ---> busy ---> idle ---> busy ---> ...
//                                           |         |
//                                 failed or aborted   unused for 5 s, closed by the server, 100 mails sent, or too many idle ones: closed

import type SMTPConnection from 'nodemailer/lib/smtp-connection';

import type { Outbound } from '../../ports/outbound.ts';
import { OutboundError } from '../../ports/outbound.ts';
import { shakeHandsInTurn } from './smtp-handshake.ts';
import { endWhenRefused, refusalOf } from './smtp-refusal.ts';
import { boundReplies } from './smtp-replies.ts';

export interface SmtpServer {
  readonly tenantId: string;
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte; else STARTTLS. */
  readonly secure: boolean;
  /** How we say who we are: some relays take mail of names with a domain alone. */
  readonly heloName: string;
  readonly user: string | null;
  readonly password: string;
}

export interface SmtpMail {
  readonly from: string;
  /** The recipient first, then who gets a copy. */
  readonly to: readonly string[];
  readonly message: Buffer;
}

export interface SmtpConnections {
  /** Resolves when the server has taken the mail for its recipient; whether it has for the others isn't told. @throws OutboundError, or nodemailer's errors with `code`, `responseCode`, `command` */
  send(server: SmtpServer, mail: SmtpMail, signal: AbortSignal): Promise<void>;
}

/** The dispatcher has at most 64 mails in flight, so there are never more busy connections than that. */
const idleMax = 64;
const idleMs = 5_000;
const mailsPerConnection = 100;
/** Behind the attempt's deadline, for what nobody waits for any more. */
const belts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000, socketCloseTimeout: 1_000 };

type Socket = Awaited<ReturnType<Outbound['connect']>>;

interface Session {
  readonly key: string;
  readonly connection: SMTPConnection;
  /** What is read and written, TLS included; null until the session is open. */
  socket: Socket | null;
  mails: number;
  alive: boolean;
  /** Rejects the step that is under way. */
  fail: ((error: Error) => void) | null;
  /** A step begins: what the server replies is counted from here. */
  listen: () => void;
  timer: NodeJS.Timeout | null;
}

export function createSmtpConnections(outbound: Outbound): SmtpConnections {
  const idle: Session[] = [];

  function takeIdle(key: string): Session | null {
    const at = idle.findLastIndex((session) => session.key === key);
    const [session] = at < 0 ? [] : idle.splice(at, 1);
    if (session === undefined) return null;
    clearTimeout(session.timer ?? undefined);
    return session;
  }

  function putIdle(session: Session): void {
    if (!session.alive) return;
    if (session.mails >= mailsPerConnection) return end(session);
    if (idle.length >= idleMax) {
      const oldest = idle.shift();
      if (oldest !== undefined) end(oldest);
    }
    session.timer = setTimeout(() => end(session), idleMs).unref();
    idle.push(session);
  }

  function end(session: Session): void {
    forget(session);
    if (session.alive) session.connection.quit();
  }

  function forget(session: Session): void {
    clearTimeout(session.timer ?? undefined);
    const at = idle.indexOf(session);
    if (at >= 0) idle.splice(at, 1);
  }

  async function open(server: SmtpServer, key: string, signal: AbortSignal): Promise<Session> {
    const { default: Connection } = await import('nodemailer/lib/smtp-connection');
    const { tenantId, host, port, secure, heloName: name, user, password } = server;
    const socket = await outbound.connect({ host, port, signal });
    // Where it really is connected to decides whether a plain login and an unknown certificate will do.
    const { remoteAddress } = socket;
    const exempt = remoteAddress !== undefined && (await outbound.isAllowListed(remoteAddress));
    // Reset by now: it would say so to nobody any more.
    if (remoteAddress === undefined || socket.destroyed) {
      socket.destroy();
      throw closedByServer();
    }
    const tls = { rejectUnauthorized: !exempt, secureContext: outbound.secureContext };
    const connection = new Connection({
      ...belts,
      name,
      host,
      port,
      secure,
      connection: socket,
      requireTLS: !secure && !exempt,
      tls,
    });
    endWhenRefused(connection);
    const listen = boundReplies(connection, (error) => lost(error));
    const session: Session = { key, connection, socket: null, mails: 0, alive: true, fail: null, listen, timer: null };
    const lost = (error?: Error): void => {
      session.alive = false;
      forget(session);
      session.fail?.(error ?? closedByServer());
    };
    shakeHandsInTurn(connection, tenantId, outbound, (error) => {
      lost(error);
      connection.close();
    });
    connection.on('error', lost);
    connection.on('end', () => lost());
    await step(session, socket, signal, (done) => connection.connect(done));
    // As nodemailer's own transport: a server that offers no login is not asked for one.
    if (user !== null && connection.allowsAuth) {
      await step(session, socket, signal, (done) => connection.login({ user, pass: password }, done));
    }
    session.socket = connection._socket || null;
    return session;
  }

  async function transmit(session: Session, mail: SmtpMail, signal: AbortSignal): Promise<void> {
    session.mails++;
    const envelope = { from: mail.from, to: [...mail.to], size: mail.message.length, use8BitMime: true };
    try {
      await step(session, null, signal, (done) => session.connection.send(envelope, mail.message, done));
    } catch (error) {
      // What the server refused may leave the session half way through a mail.
      if (session.alive) session.connection.close();
      throw refusalOf(error, mail.to);
    }
    putIdle(session);
  }

  return {
    async send(server, mail, signal) {
      const { tenantId, host, port, secure, heloName, user, password } = server;
      const key = JSON.stringify([tenantId, host, port, secure, heloName, user, password]);
      const kept = takeIdle(key);
      if (kept !== null) {
        const heard = kept.socket?.bytesRead;
        try {
          return await transmit(kept, mail, signal);
        } catch (error) {
          // Given up by the server while it was idle: the mail goes over a new one. After a word of the server it may have been taken.
          const stale = kept.socket?.bytesRead === heard || isGoodbye(error);
          if (signal.aborted || !stale) throw error;
        }
      }
      await transmit(await open(server, key, signal), mail, signal);
    },
  };
}

function closedByServer(): OutboundError {
  return new OutboundError('network', 'ECONNRESET', 'the mail server closed the connection');
}

/** One command, cut off by the signal, the connection with it. */
function step(
  session: Session,
  socket: Socket | null,
  signal: AbortSignal,
  run: (done: (error?: Error | null) => void) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error | null): void => {
      signal.removeEventListener('abort', cut);
      session.fail = null;
      if (error === undefined || error === null) return resolve();
      if (session.alive) session.connection.close();
      reject(error);
    };
    const cut = (): void => {
      settle(new OutboundError('timeout', 'ETIMEDOUT', 'the mail server did not answer before the deadline'));
      socket?.destroy();
    };
    if (signal.aborted) return cut();
    signal.addEventListener('abort', cut, { once: true });
    session.fail = settle;
    session.listen();
    run(settle);
  });
}

/** 421 as the first answer: the server closes the connection, and nothing of the mail was taken. */
function isGoodbye(error: unknown): boolean {
  const { responseCode, command } = error as { responseCode?: number; command?: string };
  return responseCode === 421 && command === 'MAIL FROM';
}

// When a mail server's TLS handshake begins: as one more of its tenant's may, after STARTTLS or at the beginning.

import type SMTPConnection from 'nodemailer/lib/smtp-connection';

import type { Outbound, OutboundError } from '../../ports/outbound.ts';

/** Of nodemailer's, whose types don't name them: a test at a server without a turn says when another version differs. */
interface Internals {
  /** On the plain connection: errors of the handshake come as the connection's own. */
  _upgradeConnection(done: (error: Error | null, isSecured?: boolean) => void): void;
}

/** @param refuse is told why there was no turn */
export function shakeHandsInTurn(
  connection: SMTPConnection,
  tenantId: string,
  outbound: Pick<Outbound, 'takeHandshake'>,
  refuse: (error: OutboundError) => void,
): void {
  const internals = connection as unknown as Internals;
  const upgrade = internals._upgradeConnection.bind(connection);
  internals._upgradeConnection = (done) => {
    let isEnded = false;
    let told: (isWell: boolean) => void = () => undefined;
    const ended = (): void => {
      isEnded = true;
      told(false);
    };
    connection.once('error', ended).once('end', ended);
    const begin = (over: (isWell: boolean) => void): void => {
      if (isEnded) return over(true);
      told = over;
      upgrade((error, isSecured) => {
        over(error === null);
        done(error, isSecured);
      });
    };
    outbound.takeHandshake(tenantId, begin, refuse);
  };
}

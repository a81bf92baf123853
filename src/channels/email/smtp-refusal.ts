// A mail whose recipient the server refuses ends there, whatever it says of those who get a copy: nobody gets it, so that a further try sends nothing twice.
//
// With PIPELINING (RFC 2920) DATA is out before the refusal comes, and some servers say 354 to it all the same. nodemailer then ends an empty mail, whose
// answer some of them never give; of several recipients it asks for one alone. Here the refusal itself is the answer, and the connection is closed.

import type SMTPConnection from 'nodemailer/lib/smtp-connection';

/** Of nodemailer's, whose types don't name them: a test at a server of each kind says when another version differs. */
interface Internals {
  readonly _envelope: Envelope;
  /** What comes as the answer to DATA. */
  _actionDATA(reply: string, done: (error: Error | null, info?: unknown) => void): void;
}

interface Envelope {
  readonly to: readonly string[];
  readonly mailError?: Error | null;
  readonly rejectedErrors: readonly Refusal[];
}

type Refusal = Error & { readonly recipient?: string };

export function endWhenRefused(connection: SMTPConnection): void {
  const internals = connection as unknown as Internals;
  const goOn = internals._actionDATA.bind(connection);
  internals._actionDATA = (reply, done) => {
    const { to, mailError, rejectedErrors } = internals._envelope;
    const refusal = mailError ? undefined : ofFirst(rejectedErrors, to);
    if (refusal === undefined) goOn(reply, done);
    else done(refusal);
  };
}

/** Of an error that speaks for several recipients what the first of them was told. */
export function refusalOf(error: unknown, to: readonly string[]): unknown {
  const { rejectedErrors = [] } = error as Partial<Envelope>;
  return ofFirst(rejectedErrors, to) ?? error;
}

function ofFirst(refusals: readonly Refusal[], [recipient]: readonly string[]): Refusal | undefined {
  return refusals.find((refusal) => refusal.recipient === recipient);
}

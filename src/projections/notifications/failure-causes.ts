// Of what a notification has failed, as one text: what failures are counted, found and told apart by.

import type { Channel, FailureClass } from '../../domain/events.ts';

export interface FailureCause {
  readonly channel: Channel;
  readonly failureClass: FailureClass;
  readonly provider: string;
  /** The receiver's own, whatever is in it. */
  readonly code: string | null;
}

/** With the rest of a cause under the 100 characters to which the texts of a document are cut that is too large: what was counted is found again. */
const codeCharactersMax = 50;

/** As causes and filters have it: the beginning of one that is no code any more. */
export function comparedCode(code: string | null): string | null {
  return code !== null && code.length > codeCharactersMax ? code.slice(0, codeCharactersMax).toWellFormed() : code;
}

/** `EMAIL.recipient.smtp.550`: names of providers have no dot, and what has no code ends without one. */
export function causeKeyOf({ channel, failureClass, provider, code }: FailureCause): string {
  const named = `${channel}.${failureClass}.${provider}`;
  return code === null ? named : `${named}.${comparedCode(code)}`;
}

export function causeOfKey(key: string): FailureCause {
  const [channel, failureClass, provider = '', ...code] = key.split('.');
  return {
    channel: channel as Channel,
    failureClass: failureClass as FailureClass,
    provider,
    code: code.length === 0 ? null : code.join('.'),
  };
}

// What the form of a test holds, and the request that it makes. Pure.

import { dataOf } from '../../ui/json-data.ts';
import type { Channel, Priority } from '../../wire.ts';

export interface Draft {
  readonly channel: Channel;
  readonly recipient: string;
  readonly priority: Priority;
  /** A template's name; '': subject and body are the request's own. */
  readonly template: string;
  readonly subject: string;
  readonly body: string;
  /** JSON; '': none. */
  readonly data: string;
  /** As a field of the browser's has it, in the viewer's zone; '': at once. */
  readonly sendAt: string;
}

export const emptyDraft: Draft = {
  channel: 'IN_APP',
  recipient: '',
  priority: 'DEFAULT',
  template: '',
  subject: '',
  body: '',
  data: '',
  sendAt: '',
};

/** The request as far as it is there, and what is wrong with the data; the API says the rest. */
export function requestOf(draft: Draft): {
  readonly request: Readonly<Record<string, unknown>>;
  readonly problem: string | null;
} {
  const { channel, recipient, priority, template, subject, body, sendAt } = draft;
  const { data, problem } = dataOf(draft.data);
  const at = Date.parse(sendAt);
  const content = template === '' ? { ...(subject === '' ? {} : { subject }), body } : { template };
  const request = {
    channel,
    recipient: recipient.trim(),
    ...content,
    ...(data === null ? {} : { data }),
    ...(priority === 'DEFAULT' ? {} : { priority }),
    ...(Number.isNaN(at) ? {} : { sendAt: new Date(at).toISOString() }),
  };
  return { request, problem };
}

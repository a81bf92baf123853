// An item of a batch: a notification as POST /notify takes it, and a key of its own.

import { z } from 'zod';

import type { NotificationInput } from '../commands/accept-notification.ts';
import { badField } from '../domain/errors.ts';
import type { Outbound } from '../ports/outbound.ts';
import { batchLimits } from './batch-items.ts';
import { idempotencyKeyPattern } from './idempotency-key.ts';
import type { Sender } from './notification-request.ts';
import { notificationRequest, notificationSchema } from './notification-request.ts';

const idempotencyKey = z
  .string()
  .regex(idempotencyKeyPattern)
  .describe('As the header Idempotency-Key of a request of its own.');

/** For the document: each item is checked by itself. */
export const batchSchema = z.strictObject({
  notifications: z
    .array(notificationSchema.extend({ idempotencyKey: idempotencyKey.optional() }).meta({ id: 'BatchItem' }))
    .min(1)
    .max(batchLimits.itemsMax),
});

export interface ItemRequest {
  readonly input: NotificationInput;
  readonly key: string | null;
}

/** @throws DomainError BAD_REQUEST naming every field that is wrong */
export function batchItem(
  item: unknown,
  sender: Sender,
  now: number,
  outbound: Pick<Outbound, 'problemWithUrl'>,
): ItemRequest {
  if (typeof item !== 'object' || item === null || !Object.hasOwn(item, 'idempotencyKey'))
    return { input: notificationRequest(item, sender, now, outbound), key: null };
  const { idempotencyKey: key, ...rest } = item as Record<string, unknown>;
  const input = notificationRequest(rest, sender, now, outbound);
  if (typeof key !== 'string' || !idempotencyKeyPattern.test(key))
    throw badField('idempotencyKey', 'must have 1 to 255 printable ASCII characters');
  return { input, key };
}

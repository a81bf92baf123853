// What stands in the paths of several routes.

import { channels } from '../../domain/events.ts';
import { notificationId } from './examples.ts';
import type { OperationDocs, ParamDocs } from './operation.ts';

export const notificationParam: ParamDocs = {
  description: 'The notification’s id. One of another tenant reads as one that does not exist.',
  example: notificationId,
  schema: { type: 'string' },
};

export const batchId = 'batch_01kax9t3v2f8h5m7q0r1s4w6yz';
export const batchParam: ParamDocs = {
  description: 'The batch’s id. One of another tenant reads as one that does not exist.',
  example: batchId,
  schema: { type: 'string' },
};

export const userParam: ParamDocs = {
  description: 'The `recipient` that in-app notifications were sent to.',
  example: 'ada',
  schema: { type: 'string', minLength: 1, maxLength: 256 },
};

export const channelParam: ParamDocs = {
  description: 'In upper or lower case.',
  example: 'EMAIL',
  schema: { type: 'string', enum: channels },
};

/** Of what is filtered as the list of notifications is. */
export const metadataQuery: NonNullable<OperationDocs['freeQuery']> = {
  name: 'metadata',
  description:
    '`metadata[<key>]=<value>` or `metadata.<key>=<value>`, as many as there are: the pair that the request had. Found a moment later.',
  schema: { type: 'object', additionalProperties: { type: 'string' } },
};

// The answer to a method that an address doesn't take: 405 with Allow, and to OPTIONS Allow alone.

import type { ServerResponse } from 'node:http';

import { DomainError } from '../domain/errors.ts';

/** @throws DomainError METHOD_NOT_ALLOWED */
export function refuseMethod({ method }: { readonly method: string }, res: ServerResponse, allowed: string): void {
  res.setHeader('allow', allowed);
  if (method !== 'OPTIONS') throw new DomainError('METHOD_NOT_ALLOWED', `This address takes ${allowed}.`);
  res.writeHead(204);
  res.end();
}

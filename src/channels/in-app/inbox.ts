// IN_APP `inbox`: the attempt itself stores nothing and succeeds; the inbox shows the item once the log says that it is delivered.

import { z } from 'zod';

import type { DeliveryOutcome } from '../../domain/delivery-outcome.ts';
import type { Provider } from '../../ports/provider-registry.ts';
import { settingsCheck } from '../settings-check.ts';

const inboxConfig = z.strictObject({}).describe('Nothing to set.');

export function inbox(): Provider {
  return {
    channel: 'IN_APP',
    name: 'inbox',
    check: settingsCheck(inboxConfig, z.string().describe('Not used.')),
    keyGoesBy: () => ({}),
    send: () => Promise.resolve(shown),
  };
}

const shown: DeliveryOutcome = { kind: 'delivered', messageId: null };

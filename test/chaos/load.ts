// The load: so many notifications a second over all tenants, channels, priorities and kinds, each posted once and never again.

import { assertNever } from '../../src/domain/assert-never.ts';
import type { Channel } from '../../src/domain/events.ts';
import { channels, priorities } from '../../src/domain/events.ts';
import { createPoster } from '../support/posting.ts';
import type { Random } from './random.ts';
import type { Kind } from './receivers.ts';
import type { Tenant } from './tenants.ts';

export interface Sending {
  readonly n: number;
  readonly tenant: Tenant;
  readonly channel: Channel;
  readonly kind: Kind;
  /** UTC ms. */
  readonly sendAt: number | null;
  /** null until it is accepted; for good when it was refused or nothing was answered: it may be in the log then. */
  accepted: { readonly id: string; readonly at: number } | null;
}

export interface Load {
  /** By number; numbers are dense. */
  readonly sendings: readonly Sending[];
  /** How often each status was answered; null: nothing was. */
  readonly statuses: ReadonlyMap<number | null, number>;
  start(): void;
  /** Resolves when the last post is answered or given up. */
  stop(): Promise<void>;
}

/** A client's patience; a frozen API doesn't answer. */
const answeredWithinMs = 10_000;
const avoidedMs = 2_000;
const scheduledShare = 0.15;

/** One of each for every hundred. */
const kindsOf: Readonly<Record<Channel, readonly (readonly [Kind, number])[]>> = {
  WEBHOOK: [
    ['plain', 57],
    ['slow', 10],
    ['fails-once', 12],
    ['fails-thrice', 5],
    ['put-off', 7],
    ['hangs', 5],
    ['refused', 4],
  ],
  SMS: [
    ['plain', 76],
    ['fails-once', 12],
    ['put-off', 7],
    ['hangs', 5],
  ],
  EMAIL: [
    ['plain', 80],
    ['fails-once', 12],
    ['hangs', 8],
  ],
  IN_APP: [['plain', 100]],
};

export function createLoad(options: {
  readonly random: Random;
  readonly perSecond: number;
  readonly tenants: readonly Tenant[];
  readonly apiUrls: readonly string[];
  readonly webhooksUrl: string;
  /** How far ahead a `sendAt` is at most. */
  readonly scheduledMsMax: number;
}): Load {
  const { random, perSecond, tenants, apiUrls, webhooksUrl, scheduledMsMax } = options;
  /** Until when, by the address. */
  const avoided = new Map<string, number>();
  const poster = createPoster({ timeoutMs: answeredWithinMs });
  const sendings: Sending[] = [];
  const statuses = new Map<number | null, number>();
  const posts = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | null = null;

  async function post(): Promise<void> {
    const sending = choose();
    sendings.push(sending);
    const { tenant, sendAt, channel } = sending;
    const url = balanced(random.of(apiUrls));
    const { status, id } = await poster.post(
      { url, apiKey: tenant.apiKey },
      {
        channel,
        recipient: recipientOf(sending, webhooksUrl),
        priority: random.of(priorities),
        body: `Your order ${sending.n} is on its way`,
        ...(channel === 'EMAIL' ? { subject: `Order ${sending.n}` } : {}),
        ...(sendAt === null ? {} : { sendAt: new Date(sendAt).toISOString() }),
      },
    );
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (id !== null) sending.accepted = { id, at: Date.now() };
    if (status === null) avoided.set(url, Date.now() + avoidedMs);
  }

  /** As a balancer does that has no answer of one: the next goes elsewhere. */
  function balanced(url: string): string {
    const isAvoided = (one: string) => (avoided.get(one) ?? 0) > Date.now();
    return isAvoided(url) ? (apiUrls.find((other) => !isAvoided(other)) ?? url) : url;
  }

  function choose(): Sending {
    const channel = random.of(channels);
    const isScheduled = random.next() < scheduledShare;
    return {
      n: sendings.length,
      tenant: random.of(tenants),
      channel,
      kind: weighted(kindsOf[channel], random),
      sendAt: isScheduled ? Date.now() + random.between(1, scheduledMsMax) : null,
      accepted: null,
    };
  }

  return {
    sendings,
    statuses,
    start() {
      timer = setInterval(() => {
        const posted = post().finally(() => posts.delete(posted));
        posts.add(posted);
      }, 1000 / perSecond);
    },
    async stop() {
      if (timer !== null) clearInterval(timer);
      await Promise.all(posts);
      await poster.close();
    },
  };
}

/** Recipients of inboxes come again, so that an inbox holds some. */
const inboxes = 50;

export function recipientOf({ n, channel }: Sending, webhooksUrl: string): string {
  switch (channel) {
    case 'WEBHOOK':
      return `${webhooksUrl}/hooks/${n}`;
    case 'EMAIL':
      return `customer-${n}@example.com`;
    case 'SMS':
      return `+1555${String(n).padStart(7, '0')}`;
    case 'IN_APP':
      return `user-${n % inboxes}`;
    default:
      return assertNever(channel);
  }
}

function weighted(kinds: readonly (readonly [Kind, number])[], random: Random): Kind {
  let left = random.next() * kinds.reduce((sum, [, share]) => sum + share, 0);
  for (const [kind, share] of kinds) {
    left -= share;
    if (left < 0) return kind;
  }
  return 'plain';
}

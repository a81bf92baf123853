// Whether topics of the log lose events by their own settings: 7 days are many a Kafka's default, and what waits for longer would go, suppressions and erasures too.
// What ends is RETENTION's to say, event by event (DeleteRecords). So it is set right where that is allowed, at the start and ever after, and told where it isn't.

import type { Admin } from 'kafkajs';

import { retentionTopic, settingsTopic, type Topic } from '../../domain/topics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Metrics } from '../../ports/metrics.ts';
import type { Admins } from './admin.ts';
import { answeredError } from './kafka-errors.ts';
import { formatTopic } from './log-format.ts';
import { changeSettings, settingsOf, type TopicSettings } from './topic-settings.ts';

/** Of a topic that loses nothing. */
export const losesNothing: Readonly<Record<string, string>> = {
  'cleanup.policy': 'delete',
  'retention.ms': '-1',
  'retention.bytes': '-1',
};

/** Lists of suppressions, what is erased, the days that are counted and how the log was made are folded from the first event on. */
const keptForGood: readonly Topic[] = [settingsTopic, retentionTopic, formatTopic];

const dayMs = 24 * 60 * 60 * 1000;
/** A `sendAt` is 90 days ahead at most; its retries take hours, and a month is for a service that stood. */
const waitsMaxMs = 120 * dayMs;

const lookEveryMs = 30_000;
/** Until the brokers say what they were told. */
const tellTries = 50;
const tellTryMs = 100;

export interface Losing {
  /** As the brokers know it. */
  readonly name: string;
  /** What of its settings ends events. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface SetRight {
  readonly mended: readonly Losing[];
  readonly losing: readonly (Losing & { readonly why: string })[];
}

/** @param topics by the names that the brokers know. @throws Error when their settings can't be read */
export async function setRight(
  admin: Admin,
  topics: ReadonlyMap<string, Topic>,
  clock: Pick<Clock, 'sleep'>,
): Promise<SetRight> {
  const names = [...topics.keys()];
  const found = losingOf(await settingsOf(admin, names), topics);
  const refused = new Map<string, string>();
  for (const { own, name, settings } of found) {
    const changes = Object.fromEntries(Object.keys(settings).map((key) => [key, losesNothing[key] ?? '']));
    try {
      await changeSettings(admin, { name, own }, changes);
    } catch (error) {
      const why = answeredError(error);
      if (why === null) throw error;
      refused.set(name, why);
    }
  }
  const asked = found.filter(({ name }) => !refused.has(name)).map(({ name }) => name);
  const untold = await untilTold(admin, asked, { topics, clock });
  const losing = found.flatMap(({ name, settings }) => {
    const why = refused.get(name) ?? (untold.has(name) ? 'the brokers do not take it' : null);
    return why === null ? [] : [{ name, settings, why }];
  });
  const isLosing = new Set(losing.map(({ name }) => name));
  const mended = found.filter(({ name }) => !isLosing.has(name)).map(({ name, settings }) => ({ name, settings }));
  return { mended, losing };
}

/** Which of them don't, after all. */
async function untilTold(
  admin: Admin,
  names: readonly string[],
  { topics, clock }: { readonly topics: ReadonlyMap<string, Topic>; readonly clock: Pick<Clock, 'sleep'> },
): Promise<ReadonlySet<string>> {
  for (let tries = 1; names.length > 0; tries++) {
    const left = losingOf(await settingsOf(admin, names), topics).map(({ name }) => name);
    if (left.length === 0 || tries >= tellTries) return new Set(left);
    await clock.sleep(tellTryMs);
  }
  return new Set();
}

function losingOf(settings: readonly TopicSettings[], topics: ReadonlyMap<string, Topic>) {
  return settings.flatMap(({ name, own, values }) => {
    const topic = topics.get(name);
    if (topic === undefined) return [];
    const odd = [...values].filter(([key, value]) => loses(topic, key, value));
    return odd.length === 0 ? [] : [{ name, own, settings: Object.fromEntries(odd) }];
  });
}

function loses(topic: Topic, key: string, value: string): boolean {
  switch (key) {
    case 'cleanup.policy':
      return value.includes('compact');
    case 'retention.bytes':
      return Number(value) >= 0;
    case 'retention.ms':
      return Number(value) >= 0 && (keptForGood.includes(topic) || Number(value) < waitsMaxMs);
    default:
      return false;
  }
}

export interface TopicRetention {
  /** Never rejects; a look that no broker answers leaves what was known. */
  look(): Promise<void>;
  /** What a process that came up to it isn't ready for; one that was at work goes on, and says so. A sentence, or null. */
  problem(): string | null;
  /** Looks again and again, until it is closed. */
  follow(): void;
  close(): void;
}

export interface TopicRetentionDependencies {
  readonly admins: Admins;
  readonly topics: ReadonlyMap<string, Topic>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics | undefined;
}

export function createTopicRetention(deps: TopicRetentionDependencies): TopicRetention {
  const { admins, topics, clock, logger, metrics } = deps;
  const closing = new AbortController();
  let losing: SetRight['losing'] = [];
  let isUnknown = false;
  /** What was there at the first look; null: there was none. */
  let atStart: ReadonlySet<string> | null = null;
  let said = '';

  const say = (now: string, line: () => void) => {
    if (now !== said) line();
    said = now;
  };

  /** A broker hears of a topic that was just made some moments later. */
  const untilKnown = async <T>(ask: () => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      try {
        return await ask();
      } catch (error) {
        if (answeredError(error) !== 'UNKNOWN_TOPIC_OR_PARTITION' || tries >= tellTries) throw error;
      }
      await clock.sleep(tellTryMs, closing.signal);
    }
  };

  const look = async (): Promise<void> => {
    try {
      const found = await untilKnown(() => admins.use((admin) => setRight(admin, topics, clock)));
      ({ losing } = found);
      isUnknown = false;
      atStart ??= new Set(losing.map(({ name }) => name));
      const lost = { topics: losing, needed: losesNothing };
      if (found.mended.length > 0)
        logger.warn('topics would have lost events by their own settings: set right', { topics: found.mended });
      if (losing.length > 0)
        say(JSON.stringify(losing), () => logger.error('topics lose events by their own settings', lost));
      else say('', () => logger.info('no topic loses events by its settings any more'));
    } catch (err) {
      const why = answeredError(err);
      if (why === null) return;
      isUnknown = true;
      const unread = 'whether topics lose events by their own settings can not be asked';
      say(why, () => logger.warn(unread, { reason: why, needed: losesNothing }));
    }
  };

  metrics?.gauge('herald_topics', () => losing.length, { state: 'losing' });
  metrics?.gauge('herald_topics', () => (isUnknown ? topics.size : 0), { state: 'unknown' });

  return {
    look,
    problem() {
      const first = losing.find(({ name }) => atStart?.has(name) === true);
      if (first === undefined) return null;
      const { name, settings, why } = first;
      const more = losing.length > 1 ? ` (and ${losing.length - 1} more)` : '';
      const what = Object.entries(settings).map((pair) => pair.join('='));
      return `topic ${name}${more} loses events by its ${what.join(', ')}, which may not be changed: ${why}`;
    },
    follow() {
      void (async () => {
        for (;;) {
          await clock.sleep(lookEveryMs, closing.signal);
          if (closing.signal.aborted) return;
          await look();
        }
      })();
    },
    close: () => closing.abort(),
  };
}

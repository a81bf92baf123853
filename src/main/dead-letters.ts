// herald dead-letters: what didn't decode when it was read, whether it does now, and what does once more into the log.

import { createCodec } from '../codec/index.ts';
import { assertNever } from '../domain/assert-never.ts';
import type { DeadLettered, DomainEvent } from '../domain/events.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { ReadableLog } from '../projections/rebuild-pass.ts';
import type { LetterState } from '../reconcile/dead-letters.ts';
import { deadLetters, replay, stateOf } from '../reconcile/dead-letters.ts';
import type { Config } from './config.ts';
import { openLogBesideViews } from './engines.ts';
import { patientLog } from './patient-log.ts';
import { createProcess } from './process.ts';
import { StartError } from './start-error.ts';

type DeadLettersVerb = 'list' | 'show' | 'replay';

/** @param place TOPIC:PARTITION:OFFSET; null: all of them @throws StartError while the service runs (embedded), and when there is none at the place */
export async function lookAfterDeadLetters(config: Config, verb: DeadLettersVerb, place: string | null): Promise<void> {
  const parts = createProcess(config);
  const { signal } = new AbortController();
  const { log, close } = await openLogBesideViews({ ...parts, config, codec: createCodec(), signal });
  try {
    const reading = patientLog(log, parts);
    let found = 0;
    for await (const letter of deadLetters(reading)) {
      if (place !== null && placeOf(letter) !== place) continue;
      found++;
      await told[verb]({ log, reading }, letter);
    }
    if (place !== null && found === 0)
      throw new StartError(`There is no dead letter of ${place}: dead-letters list names all of them.`);
    if (found === 0) process.stdout.write('There are no dead letters.\n');
  } finally {
    await close();
    parts.logger.flush();
  }
}

interface Logs {
  readonly log: Pick<EventLog, 'append'>;
  readonly reading: ReadableLog;
}

const told: Readonly<Record<DeadLettersVerb, (logs: Logs, letter: DeadLettered) => Promise<void>>> = {
  async list(_, letter) {
    const { occurredAt, reason } = letter;
    process.stdout.write(`${placeOf(letter)}  ${new Date(occurredAt).toISOString()}  ${reason}\n`);
  },
  async show({ reading }, letter) {
    const state = await stateOf(reading, letter);
    const lines = [
      ['place', placeOf(letter)],
      ['appended', new Date(letter.occurredAt).toISOString()],
      ['reason', letter.reason],
      ['now', sentenceOf(state)],
      ...('event' in state ? factsOf(state.event) : []),
      ['bytes', letter.bytes],
    ];
    for (const [name = '', value = ''] of lines) process.stdout.write(`${name.padEnd(13)}${value}\n`);
  },
  async replay({ log, reading }, letter) {
    const state = await stateOf(reading, letter);
    const said =
      state.kind === 'readable' ? `appended again as ${placeOf(await replay(log, state.event))}` : sentenceOf(state);
    process.stdout.write(`${placeOf(letter)}  ${said}\n`);
  },
};

function placeOf({ topic, partition, offset }: Pick<DeadLettered, 'topic' | 'partition' | 'offset'>): string {
  return `${topic}:${partition}:${offset}`;
}

function sentenceOf(state: LetterState): string {
  switch (state.kind) {
    case 'undecodable':
      return `still does not decode: ${state.reason}`;
    case 'gone':
      return 'is not in this log';
    case 'readable':
      return 'decodes: replay appends it again';
    case 'replayed':
      return `was appended again as ${placeOf(state.at)}`;
    case 'overtaken':
      return `has been overtaken by ${placeOf(state.at)}, so it is not appended again`;
    default:
      return assertNever(state);
  }
}

/** Whose it is; never what it says. */
function factsOf(event: DomainEvent): [string, string][] {
  const of: [string, string][] = [
    ['type', event.type],
    ['eventId', event.eventId],
    ['tenant', event.tenantId],
  ];
  return 'notificationId' in event ? [...of, ['notification', event.notificationId]] : of;
}

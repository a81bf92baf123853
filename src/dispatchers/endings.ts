// How an item leaves: by an outcome, said until it is durable before the slot is given back, or unmade, back to its place in its lane.

import type { DeliveryOutcome } from '../domain/delivery-outcome.ts';
import type { Attempt } from './attempt.ts';
import type { AttemptReport } from './attempt-report.ts';
import { besideOther } from './breakers.ts';
import type { Breakers } from './breakers.ts';
import type { Deferrals } from './deferrals.ts';
import type { OutcomeAppender } from './outcome-appender.ts';
import type { OutcomeEvent, OutcomeEvents } from './outcome-events.ts';
import type { Standing } from './standing.ts';
import type { Turns } from './turns.ts';
import type { UnderWay } from './under-way.ts';
import type { WorkItem } from './work-item.ts';

export interface EndingsDependencies {
  readonly inFlight: Set<Attempt>;
  readonly turns: Pick<Turns<WorkItem>, 'lanes' | 'end'>;
  readonly underWay: Pick<UnderWay, 'drop' | 'finish'>;
  readonly breakers: Pick<Breakers, 'note'>;
  readonly deferrals: Pick<Deferrals, 'end'>;
  readonly outcomeEvents: Pick<OutcomeEvents, 'ended'>;
  readonly outcomes: Pick<OutcomeAppender, 'say'>;
  readonly standing: Standing;
  readonly report: AttemptReport;
  /** Somebody else may begin, or nothing is left. */
  readonly goOn: () => void;
}

export interface Endings {
  /** The attempt has its outcome, which is on its way to the log before the slot is given back. */
  land(attempt: Attempt, provider: string, outcome: DeliveryOutcome): void;
  /** What there is to say of it in place of an attempt. */
  conclude(attempt: Attempt, event: OutcomeEvent): void;
  /** No attempt: the item keeps its place, unless its number is over. */
  returnToLane(attempt: Attempt): void;
  /** Of what took no slot. */
  say(event: OutcomeEvent, item: WorkItem): Promise<void>;
  /** How it went, once; null: nothing that says anything of the provider. */
  tellBreaker(attempt: Attempt, outcome: DeliveryOutcome | null): void;
}

export function createEndings(dependencies: EndingsDependencies): Endings {
  const { inFlight, turns, underWay, breakers, deferrals } = dependencies;
  const { outcomeEvents, outcomes, standing, report, goOn } = dependencies;

  function land(attempt: Attempt, provider: string, outcome: DeliveryOutcome): void {
    if (attempt.isOver) return;
    attempt.isOver = true;
    const said = attempt.pass === null ? outcome : besideOther(outcome, attempt.pass.means);
    // Of no attempt the outcome says nothing of the provider.
    tellBreaker(attempt, attempt.provider === null ? null : outcome);
    const sayIt = () => conclude(attempt, outcomeEvents.ended(attempt, provider, said));
    // After a sleep a deadline has passed at once, whatever became of the attempt; whether it is still ours to say the group knows.
    if (said.kind === 'delivered' || standing.isSure()) sayIt();
    else void standing.sure().then(sayIt);
  }

  function conclude(attempt: Attempt, event: OutcomeEvent): void {
    const { item } = attempt;
    if (item.tracker.isClosed && event.type !== 'AttemptSucceeded') {
      // Whoever has its number now makes the same attempt: a failure said beside that one's success would be tried again.
      underWay.drop(item);
      return leave(attempt);
    }
    if (event.type === 'AttemptSucceeded' || event.type === 'AttemptFailed') report(event);
    void say(event, item);
    leave(attempt);
  }

  async function say(event: OutcomeEvent, item: WorkItem): Promise<void> {
    await outcomes.say(event, item);
    underWay.finish(item);
    goOn();
  }

  function returnToLane(attempt: Attempt): void {
    const { item } = attempt;
    underWay.drop(item);
    if (!item.number.isOver) turns.lanes.putBack(item.event.priority, item.event.tenantId, item);
    leave(attempt);
  }

  function leave(attempt: Attempt): void {
    tellBreaker(attempt, null);
    attempt.isOver = true;
    inFlight.delete(attempt);
    turns.end(attempt.item);
    goOn();
  }

  function tellBreaker(attempt: Attempt, outcome: DeliveryOutcome | null): void {
    const { pass } = attempt;
    attempt.pass = null;
    if (pass === null) return;
    if (breakers.note(pass, outcome)) deferrals.end(pass);
  }

  return { land, conclude, returnToLane, say, tellBreaker };
}

// What providers have reported of one notification: of each kind the first report and the last, in whatever order and however often they are told.

import type { ProviderReported, ReportKind } from './events.ts';
import { reportKinds } from './events.ts';
import type { EventId } from './ids.ts';

export interface ReportFacts {
  readonly eventId: EventId;
  /** UTC ms. */
  readonly reportedAt: number;
  readonly provider: string;
  readonly recipient: string | null;
  readonly permanent: boolean;
  readonly reason: string | null;
}

export interface FirstAndLast {
  readonly first: ReportFacts;
  readonly last: ReportFacts;
}

/** Kinds in one order. A mail that is opened a thousand times is as long as one that is opened twice. */
export type ReportsOfNotification = Readonly<Partial<Record<ReportKind, FirstAndLast>>>;

export function withReport(reports: ReportsOfNotification, event: ProviderReported): ReportsOfNotification {
  const told = factsOf(event);
  const { first = told, last = told } = reports[event.report] ?? {};
  const merged: ReportsOfNotification = {
    ...reports,
    [event.report]: { first: compare(told, first) < 0 ? told : first, last: compare(told, last) > 0 ? told : last },
  };
  return Object.fromEntries(
    reportKinds.flatMap((kind) => (merged[kind] === undefined ? [] : [[kind, merged[kind]]])),
  ) as ReportsOfNotification;
}

function factsOf({ eventId, reportedAt, provider, recipient, permanent, reason }: ProviderReported): ReportFacts {
  return { eventId, reportedAt, provider, recipient, permanent, reason };
}

/** By time; what else there is to compare by makes the order the same for everybody. */
function compare(a: ReportFacts, b: ReportFacts): number {
  return (
    a.reportedAt - b.reportedAt ||
    compareText(a.eventId, b.eventId) ||
    compareText(JSON.stringify(a), JSON.stringify(b))
  );
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

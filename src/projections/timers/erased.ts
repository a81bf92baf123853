// The timers of a notification whose recipient is forgotten: when they are due stays, what they would send goes.

import { canonicalContent } from '../../domain/delivery-request.ts';
import { erasedContent, erasedRecipient } from '../../domain/erasure.ts';
import type { Timer, TimersDocument } from './document.ts';

export function erasedTimers(document: TimersDocument): TimersDocument {
  const timers = Object.entries(document.timers).map(([id, timer]) => [id, erasedTimer(timer)] as const);
  return { ...document, recipient: erasedRecipient, timers: Object.fromEntries(timers) };
}

function erasedTimer({ request, ...timer }: Timer): Timer {
  const { tracestate: _, baggage: __, ...content } = request;
  return { ...timer, request: canonicalContent(erasedContent(content)) };
}

// The time line, drawn.

import { visible } from '../../format.ts';
import { Time } from '../../ui/marks.tsx';
import type { Attempt, Notification, Report } from '../../wire.ts';
import { timelineOf } from './steps.ts';

interface Props {
  readonly notification: Notification;
  readonly attempts: readonly Attempt[];
  readonly reports: readonly Report[];
}

export function Timeline({ notification, attempts, reports }: Props) {
  return (
    <ol class="timeline">
      {timelineOf(notification, attempts, reports, Date.now()).map(({ key, at, title, kind, facts, said }) => (
        <li key={key} class={kind}>
          <div class="step">
            <b>{title}</b>
            <span class="note">
              <Time at={at} />
              {kind === 'later' && (
                <>
                  , <Time at={at} form="relative" />
                </>
              )}
            </span>
          </div>
          {facts.length > 0 && <p class="note">{visible(facts.join(' · '))}</p>}
          {said !== null && (
            <p class="said">
              <bdi>{visible(said)}</bdi>
            </p>
          )}
        </li>
      ))}
    </ol>
  );
}

// One notification: why it is where it is, what was sent, what was asked for, and what can be done with it.

import { useEffect } from 'preact/hooks';

import { call } from '../../api.ts';
import { channelName, recipientName, sentenceCase, visible } from '../../format.ts';
import { goTo, linkTo } from '../../router.ts';
import { onChanges } from '../../stream.ts';
import { StatusMark, Time } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { say } from '../../ui/toasts.tsx';
import { useAction } from '../../ui/use-action.ts';
import { useAnswer } from '../../ui/use-answer.ts';
import { useOnce } from '../../ui/use-once.ts';
import type { Notification } from '../../wire.ts';
import { Content } from './content.tsx';
import { Events } from './events.tsx';
import { lastListLink } from './last-list.ts';
import { Timeline } from './timeline.tsx';

export function OnePage({ id }: { readonly id: string }) {
  const { value, problem, reload } = useAnswer(
    (signal) => call('get', '/notifications/{id}/attempts', { params: { id }, signal }),
    id,
  );
  useEffect(
    () => onChanges((changes) => changes.some((change) => change.notificationId === id) && reload()),
    [id, reload],
  );
  return (
    <>
      <p>
        <a href={lastListLink()}>← Notifications</a>
      </p>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {value === null && problem === null && <p class="loading">Loading…</p>}
      {value !== null && (
        <>
          <Head notification={value.notification} onChange={reload} />
          <div class="halves">
            <section class="card" aria-labelledby="why">
              <h2 id="why">{whyTitle(value.notification.status)}</h2>
              <Timeline {...value} />
            </section>
            <Content notification={value.notification} />
          </div>
          <Asked notification={value.notification} />
          <Events notification={value.notification} />
        </>
      )}
    </>
  );
}

function Head({ notification, onChange }: { readonly notification: Notification; readonly onChange: () => void }) {
  const { id, status, channel, recipient, subject, createdAt } = notification;
  return (
    <div class="stack">
      <div class="head">
        <h1>
          <bdi>{subject === null || subject === '' ? recipientName(recipient) : visible(subject)}</bdi>
        </h1>
        {/* What is erased can't be sent again. */}
        {recipient !== '' && <Actions notification={notification} onChange={onChange} />}
      </div>
      <p class="facts" aria-live="polite">
        <StatusMark status={status} /> <span>{channelName(channel)}</span> <bdi>{recipientName(recipient)}</bdi>{' '}
        <Time at={createdAt} /> <code>{id}</code>
      </p>
    </div>
  );
}

function Actions({ notification, onChange }: { readonly notification: Notification; readonly onChange: () => void }) {
  const { id, status } = notification;
  const action = useAction('toast');
  const once = useOnce(id);
  const params = { id };
  return (
    <div class="actions">
      {status === 'FAILED' && (
        <button
          type="button"
          class="primary"
          disabled={action.isBusy}
          onClick={() =>
            action.run(async () => {
              await call('post', '/notifications/{id}/retry', { params });
              say('It is being sent again.');
              onChange();
            })
          }
        >
          Retry
        </button>
      )}
      {(status === 'SCHEDULED' || status === 'RETRYING') && (
        <button
          type="button"
          class="danger"
          disabled={action.isBusy}
          onClick={() =>
            action.run(async () => {
              await call('post', '/notifications/{id}/cancel', { params });
              say('It is cancelled.');
              onChange();
            })
          }
        >
          Cancel it
        </button>
      )}
      <button
        type="button"
        disabled={action.isBusy}
        onClick={() =>
          action.run(async () => {
            const made = await once((idempotencyKey) =>
              call('post', '/notifications/{id}/resend', { params, idempotencyKey }),
            );
            say('It is sent once more: this is the new one.');
            goTo(linkTo('notifications', made.notificationId));
          })
        }
      >
        Send as a new one
      </button>
    </div>
  );
}

function Asked({ notification }: { readonly notification: Notification }) {
  const {
    priority,
    template,
    metadata,
    data,
    replyTo,
    cc,
    bcc,
    transactional,
    batchId,
    resendOf,
    scheduledAt,
    expiresAt,
    rawSubject,
    rawBody,
  } = notification;
  return (
    <section class="card" aria-labelledby="asked">
      <h2 id="asked">The request</h2>
      <dl class="pairs">
        <dt>Priority</dt>
        <dd>{sentenceCase(priority)}</dd>
        {template !== null && <Pair name="Template" value={`${template.name}, version ${template.version}`} />}
        {replyTo !== null && <Pair name="Reply to" value={replyTo} />}
        {cc.length > 0 && <Pair name="Copies" value={cc.join(', ')} />}
        {bcc.length > 0 && <Pair name="Blind copies" value={bcc.join(', ')} />}
        {transactional && <Pair name="Transactional" value="goes to suppressed recipients, too" />}
        {batchId !== null && (
          <>
            <dt>Batch</dt>
            <dd>
              <a href={linkTo('notifications', null, { batchId })}>{batchId}</a>
            </dd>
          </>
        )}
        {resendOf !== null && (
          <>
            <dt>Content of</dt>
            <dd>
              <a href={linkTo('notifications', resendOf)}>{resendOf}</a>
            </dd>
          </>
        )}
        {scheduledAt !== null && (
          <>
            <dt>Scheduled for</dt>
            <dd>
              <Time at={scheduledAt} />
            </dd>
          </>
        )}
        {expiresAt !== null && (
          <>
            <dt>Expires</dt>
            <dd>
              <Time at={expiresAt} />
            </dd>
          </>
        )}
        {rawSubject !== null && <Pair name="Subject, as sent in" value={rawSubject} />}
        {Object.entries(metadata).map(([key, value]) => (
          <Pair key={key} name={`Metadata ${visible(key)}`} value={value} />
        ))}
      </dl>
      {Object.keys(data).length > 0 && <Text title="Data" text={JSON.stringify(data, null, 2)} />}
      {rawBody !== null && Object.keys(data).length > 0 && <Text title="Body, as sent in" text={rawBody} />}
    </section>
  );
}

function Pair({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <bdi>{visible(value)}</bdi>
      </dd>
    </>
  );
}

function Text({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <div class="code">
      <div class="code-head">{title}</div>
      <pre tabIndex={0} role="region" aria-label={title}>
        {visible(text)}
      </pre>
    </div>
  );
}

function whyTitle(status: string): string {
  return status === 'FAILED' ? 'Why it failed' : `Why it is ${sentenceCase(status).toLowerCase()}`;
}

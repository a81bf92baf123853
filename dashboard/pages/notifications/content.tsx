// What was sent, as a receiver sees it and as it is written.

import { useState } from 'preact/hooks';

import { bytes, visible } from '../../format.ts';
import { isHtml } from '../../html.ts';
import { ContentFrame } from '../../ui/content-frame.tsx';
import { CopyButton } from '../../ui/marks.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import type { Notification } from '../../wire.ts';

export function Content({ notification }: { readonly notification: Notification }) {
  const { subject, body, channel, recipient } = notification;
  const isShown = channel === 'EMAIL' && isHtml(body);
  const views = isShown ? (['Shown', 'Source'] as const) : (['Text'] as const);
  const [view, setView] = useState<string>(views[0]);
  return (
    <section class="card" aria-labelledby="content-title">
      <div class="head">
        <h2 id="content-title">Content</h2>
        <span class="note">{bytes(new TextEncoder().encode(body).length)}</span>
      </div>
      {recipient === '' && <p class="note">It was erased with its recipient.</p>}
      {subject !== null && (
        <p>
          <span class="note">Subject</span> <bdi>{visible(subject)}</bdi>
        </p>
      )}
      <Tabs names={views} chosen={view} onChoose={setView} label="How the content is shown">
        {view === 'Shown' ? (
          <ContentFrame html={body} />
        ) : (
          <pre class="source" tabIndex={0} role="region" aria-label="Source of the content">
            {visible(body)}
          </pre>
        )}
      </Tabs>
      <div>
        <CopyButton text={body} label="Copy the source" />
      </div>
    </section>
  );
}

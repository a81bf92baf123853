// Erases a recipient: nothing of what was sent to it is shown any more. It can't be undone, so it is asked for twice.

import { useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { channelName, visible } from '../../format.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { JobProgress } from '../../ui/job-progress.tsx';
import type { Recipient } from '../../ui/recipient-fields.tsx';
import { RecipientForm } from '../../ui/recipient-fields.tsx';
import { useAction } from '../../ui/use-action.ts';
import { forgetLastList } from '../notifications/last-list.ts';

interface Asked extends Recipient {
  readonly empty: () => void;
}

export function Erasure() {
  const [asked, setAsked] = useState<Asked | null>(null);
  const [jobId, setJobId] = useState<string | null>(null);
  const action = useAction('form');
  const erase = ({ channel, recipient, empty }: Asked) =>
    action.run(async () => {
      const started = await call('delete', '/recipients/{channel}/{recipient}', { params: { channel, recipient } });
      setJobId(started.jobId);
      forgetLastList();
      empty();
    });
  return (
    <section class="card" aria-labelledby="erasure">
      <h2 id="erasure">Erase a recipient</h2>
      <p class="note">
        Addresses, contents and metadata of all that was requested for it go from every list, search, inbox and export;
        statistics stay. What waits is cancelled.
      </p>
      <RecipientForm
        action={action}
        label="Recipient to erase"
        onSubmit={(recipient, empty) => setAsked({ ...recipient, empty })}
      >
        <button type="submit" class="danger" disabled={action.isBusy}>
          Erase…
        </button>
      </RecipientForm>
      {jobId !== null && <JobProgress key={jobId} id={jobId} does="erased" />}
      {asked !== null && (
        <Confirm
          title="Erase this recipient?"
          action="Erase it for good"
          onClose={() => setAsked(null)}
          onConfirm={() => erase(asked)}
        >
          <p>
            {channelName(asked.channel)} <bdi>{visible(asked.recipient)}</bdi>: what is erased can’t be brought back.
          </p>
        </Confirm>
      )}
    </section>
  );
}

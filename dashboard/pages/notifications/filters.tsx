// The filters: what stands in the address, as fields. A choice counts at once, a text when it is left or by Enter.

import { channelName, sentenceCase } from '../../format.ts';
import { goTo, linkTo, route, setQuery } from '../../router.ts';
import { Field } from '../../ui/field.tsx';
import { channels, priorities, statuses } from '../../wire.ts';
import { inputTime, isoOfInput } from './input-time.ts';

const more = [
  'priority',
  'template',
  'provider',
  'errorClass',
  'errorCode',
  'messageId',
  'batchId',
  'failedFrom',
  'failedTo',
];
const failureClasses = ['recipient', 'credentials', 'content', 'blocked', 'expired', 'provider', 'network', 'system'];

export function Filters() {
  const { query } = route.value;
  const isMoreUsed = [...query.keys()].some((name) => more.includes(name) || name.startsWith('metadata.'));
  return (
    <form class="filters" role="search" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <div class="filter-row">
        <Choice
          name="status"
          label="Status"
          options={statuses.map((value) => ({ value, label: sentenceCase(value) }))}
        />
        <Choice
          name="channel"
          label="Channel"
          options={channels.map((value) => ({ value, label: channelName(value) }))}
        />
        <Text name="recipientPrefix" label="Recipient begins" />
        <Text name="q" label="Words" />
        <Time name="from" label="Requested from" />
        <Time name="to" label="Until" />
      </div>
      <details open={isMoreUsed}>
        <summary>More filters</summary>
        <div class="filter-row">
          <Choice
            name="priority"
            label="Priority"
            options={priorities.map((value) => ({ value, label: sentenceCase(value) }))}
          />
          <Text name="recipient" label="Recipient" />
          <Text name="template" label="Template" />
          <Text name="provider" label="Provider" />
          <Choice
            name="errorClass"
            label="Failure class"
            options={failureClasses.map((value) => ({ value, label: value }))}
          />
          <Text name="errorCode" label="Failure code" />
          <Time name="failedFrom" label="Failed from" />
          <Time name="failedTo" label="Failed until" />
          <Text name="messageId" label="Provider’s message id" />
          <Text name="batchId" label="Batch" />
          <Metadata />
        </div>
      </details>
      {query.size > 0 && (
        <div>
          <button type="button" class="small" onClick={() => goTo(linkTo('notifications'))}>
            Clear filters
          </button>
        </div>
      )}
    </form>
  );
}

function set(name: string, value: string): void {
  const { [name]: _former, ...others } = Object.fromEntries(route.value.query);
  setQuery(value === '' ? others : { ...others, [name]: value }, { replace: false });
}

interface Named {
  readonly name: string;
  readonly label: string;
}

function Choice({ name, label, options }: Named & { readonly options: readonly { value: string; label: string }[] }) {
  return (
    <Field label={label}>
      {(id) => (
        <select
          id={id}
          value={route.value.query.get(name) ?? ''}
          onChange={({ currentTarget }) => set(name, currentTarget.value)}
        >
          <option value="">Any</option>
          {options.map(({ value, label: text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function Text({ name, label }: Named) {
  return (
    <Field label={label}>
      {(id) => (
        <input
          id={id}
          type="search"
          autocomplete="off"
          spellcheck={false}
          value={route.value.query.get(name) ?? ''}
          onChange={({ currentTarget }) => set(name, currentTarget.value.trim())}
        />
      )}
    </Field>
  );
}

function Time({ name, label }: Named) {
  return (
    <Field label={label}>
      {(id) => (
        <input
          id={id}
          type="datetime-local"
          value={inputTime(route.value.query.get(name))}
          onChange={({ currentTarget }) => set(name, isoOfInput(currentTarget.value))}
        />
      )}
    </Field>
  );
}

/** One pair: `order=17`. */
function Metadata() {
  const pair = [...route.value.query].find(([name]) => name.startsWith('metadata.'));
  return (
    <Field label="Metadata (key=value)">
      {(id) => (
        <input
          id={id}
          type="search"
          spellcheck={false}
          value={pair === undefined ? '' : `${pair[0].slice('metadata.'.length)}=${pair[1]}`}
          onChange={({ currentTarget }) => {
            const [key = '', ...value] = currentTarget.value.split('=');
            const others = [...route.value.query].filter(([name]) => !name.startsWith('metadata.'));
            const next = key.trim() === '' ? [] : [[`metadata.${key.trim()}`, value.join('=')] as const];
            setQuery(Object.fromEntries([...others, ...next]), { replace: false });
          }}
        />
      )}
    </Field>
  );
}

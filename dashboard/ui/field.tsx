// A field of a form: its label, its help and what the API said of it, tied together for whoever doesn't see them.

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

import { visible } from '../format.ts';

interface Props {
  readonly label: string;
  readonly help?: ComponentChildren;
  readonly problem?: string | null;
  /** Given the id of the field, and of what describes it. */
  readonly children: (id: string, describedBy: string | undefined) => ComponentChildren;
}

export function Field({ label, help, problem = null, children }: Props) {
  const id = useId();
  const isDescribed = help !== undefined || problem !== null;
  return (
    <div class={problem === null ? 'field' : 'field wrong'}>
      <label for={id}>{label}</label>
      {children(id, isDescribed ? `${id}-about` : undefined)}
      {isDescribed && (
        <div id={`${id}-about`} class="about">
          {problem !== null && <p class="wrong-text">{visible(problem)}</p>}
          {help !== undefined && <p>{help}</p>}
        </div>
      )}
    </div>
  );
}

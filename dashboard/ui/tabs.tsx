// Views of one thing: one at a time, chosen by arrows as well.

import type { ComponentChildren } from 'preact';
import { useId, useRef } from 'preact/hooks';

interface Props {
  readonly names: readonly string[];
  readonly chosen: string;
  readonly onChoose: (name: string) => void;
  readonly label: string;
  readonly children: ComponentChildren;
}

export function Tabs({ names, chosen, onChoose, label, children }: Props) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const move = (by: number) => {
    const place = (names.indexOf(chosen) + by + names.length) % names.length;
    onChoose(names[place] ?? chosen);
    list.current?.querySelectorAll('button')[place]?.focus();
  };
  return (
    <div class="stack">
      {names.length > 1 && (
        <div
          class="tabs"
          role="tablist"
          aria-label={label}
          ref={list}
          onKeyDown={({ key }) => {
            if (key === 'ArrowRight') move(1);
            if (key === 'ArrowLeft') move(-1);
          }}
        >
          {names.map((name, place) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`${id}-${place}`}
              aria-selected={name === chosen}
              aria-controls={`${id}-panel`}
              tabIndex={name === chosen ? 0 : -1}
              onClick={() => onChoose(name)}
            >
              {name}
            </button>
          ))}
        </div>
      )}
      <div
        {...(names.length > 1
          ? { role: 'tabpanel', id: `${id}-panel`, 'aria-labelledby': `${id}-${names.indexOf(chosen)}` }
          : {})}
      >
        {children}
      </div>
    </div>
  );
}

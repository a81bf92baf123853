// A dialog over the page: the browser's own, which keeps the focus inside and ends by Escape.

import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

import { visible } from '../format.ts';

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  /** It stays, whatever is pressed: what it has begun isn't over, or it shows what is shown once. Its own buttons end that. */
  readonly isKept?: boolean;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, isKept = false, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // By the layout's effect: others end only after the page was painted without it, and meanwhile the focus would be elsewhere.
  useLayoutEffect(() => {
    const former = document.activeElement;
    const element = dialog.current;
    element?.showModal();
    return () => {
      // While it is open nothing behind it takes the focus.
      element?.close();
      // Where it is gone as well, focus.ts finds what it stood in.
      if (former instanceof HTMLElement && former.isConnected) former.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (!isKept) onClose();
      }}
      // A second Escape asks nobody: Chromium closes it by itself.
      onClose={({ currentTarget }) => {
        if (isKept && currentTarget.isConnected) currentTarget.showModal();
      }}
    >
      <div class="dialog-head">
        <h2 id={id}>{visible(title)}</h2>
        <button type="button" class="quiet" aria-label="Close" disabled={isKept} onClick={onClose}>
          ✕
        </button>
      </div>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly action: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Before what can't be undone. */
export function Confirm({ title, children, action, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div>{children}</div>
      <div class="actions">
        <button
          type="button"
          class="danger"
          onClick={() => {
            onClose();
            onConfirm();
          }}
        >
          {action}
        </button>
        <button type="button" onClick={onClose}>
          Keep it
        </button>
      </div>
    </Dialog>
  );
}

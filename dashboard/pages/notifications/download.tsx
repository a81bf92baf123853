// The list as a file for a spreadsheet: all that fits the filters, however much is loaded.

import { useEffect, useRef, useState } from 'preact/hooks';

import { openCsv } from '../../api.ts';
import { bytes } from '../../format.ts';
import { say, sayProblem } from '../../ui/toasts.tsx';

export function Download({ query }: { readonly query: URLSearchParams }) {
  /** Bytes that have come; null: none is under way. */
  const [come, setCome] = useState<number | null>(null);
  const cut = useRef<AbortController | null>(null);
  useEffect(() => () => cut.current?.abort(), []);
  const start = () => {
    const controller = new AbortController();
    cut.current = controller;
    setCome(0);
    fileOf(query, controller.signal, setCome)
      .then((file) => {
        save(file);
        say(`${bytes(file.size)} saved.`);
      })
      .catch(sayProblem)
      .finally(() => setCome(null));
  };
  return come === null ? (
    <button type="button" onClick={start}>
      Download as CSV
    </button>
  ) : (
    <button type="button" onClick={() => cut.current?.abort()}>
      Stop at {bytes(come)}
    </button>
  );
}

async function fileOf(query: URLSearchParams, signal: AbortSignal, tell: (come: number) => void): Promise<Blob> {
  const { body } = await openCsv(Object.fromEntries(query), signal);
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let come = 0;
  const reader = body?.getReader();
  for (;;) {
    const piece = await reader?.read();
    if (piece?.value === undefined) return new Blob(pieces, { type: 'text/csv' });
    pieces.push(piece.value);
    come += piece.value.length;
    tell(come);
  }
}

function save(file: Blob): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = `notifications-${new Date().toISOString().slice(0, 10)}.csv`;
  link.click();
  URL.revokeObjectURL(url);
}

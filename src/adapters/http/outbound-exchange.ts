// One request and its answer, as undici's dispatcher calls back: the headers, the first 64 KiB, the deadline.

import type { Dispatcher } from 'undici';

import type { OutboundResponse } from '../../ports/outbound.ts';
import { OutboundError } from '../../ports/outbound.ts';
import { bodyPiecesMax, interimMax } from './answer-limits.ts';
import { toOutboundError } from './outbound-errors.ts';

const bodyBytesMax = 64 * 1024;

/**
 * A class, where the rest of the code has factories: this object is made for every webhook, and its ten callbacks live on the prototype instead of
 * being made with it. It is its own abort listener (`handleEvent`) for the same reason.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal;
  readonly #resolve: (response: OutboundResponse) => void;
  readonly #reject: (error: OutboundError) => void;
  #controller: Dispatcher.DispatchController | null = null;
  #settled = false;
  #status = 0;
  #headers: Readonly<Record<string, string>> = {};
  #first: Buffer | null = null;
  #rest: Buffer[] | null = null;
  #size = 0;
  #interim = 0;

  constructor(
    signal: AbortSignal,
    resolve: (response: OutboundResponse) => void,
    reject: (error: OutboundError) => void,
  ) {
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
    signal.addEventListener('abort', this);
  }

  /** The deadline has passed: the caller is told at once, wherever the request is. */
  handleEvent(): void {
    this.#fail(toOutboundError(null, this.#signal));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It was still waiting for a connection when it failed: it is not to be sent any more.
    if (this.#settled) controller.abort(new OutboundError('timeout', 'ETIMEDOUT', 'the deadline has passed'));
  }

  onResponseStart(_: unknown, status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void {
    if (status < 200) {
      if (++this.#interim > interimMax)
        this.#fail(new OutboundError('network', 'NO_ANSWER', 'more and more interim answers (1xx) came, and no other'));
      return;
    }
    this.#status = status;
    this.#headers = withJoinedValues(headers);
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.#settled) return;
    this.#size += chunk.length;
    if (this.#first === null) this.#first = chunk;
    else (this.#rest ??= []).push(chunk);
    if (this.#size >= bodyBytesMax || this.#rest?.length === bodyPiecesMax - 1) this.#succeed();
  }

  onResponseEnd(): void {
    // The connection goes back to the pool: undici has let go of the request already.
    this.#controller = null;
    this.#succeed();
  }

  onResponseError(_: unknown, error: Error): void {
    this.#controller = null;
    this.#fail(toOutboundError(error, this.#signal));
  }

  /** Also of an answer that is cut short: what of it is still to come is dropped with its connection. */
  #succeed(): void {
    if (this.#settled) return;
    this.#settle();
    this.#resolve({ status: this.#status, headers: this.#headers, body: this.#body() });
    this.#controller?.abort(new OutboundError('network', 'CUT', 'the rest of the answer is not read'));
  }

  #fail(error: OutboundError): void {
    if (this.#settled) return;
    this.#settle();
    this.#reject(error);
    this.#controller?.abort(error);
  }

  #settle(): void {
    this.#settled = true;
    this.#signal.removeEventListener('abort', this);
  }

  #body(): string {
    if (this.#first === null) return '';
    const whole = this.#rest === null ? this.#first : Buffer.concat([this.#first, ...this.#rest]);
    return whole.toString('utf8', 0, Math.min(whole.length, bodyBytesMax));
  }
}

/** undici gives an array for a header that came more than once. */
function withJoinedValues(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (Array.isArray(value)) (headers as Record<string, string>)[name] = value.join(', ');
  }
  return headers as Record<string, string>;
}

// Which notifications that are due a person wants stopped: no timer waits for them any more, so whoever has them in hand decides.

import type { NotificationId } from '../domain/ids.ts';

export interface AskedCancel {
  readonly notificationId: NotificationId;
  readonly round: number;
}

/** An attempt that is due. */
export interface DueAttempt extends AskedCancel {
  readonly attempt: number;
}

export interface Cancels {
  /**
   * Of a partition number; where those are many, of these notifications, which wait at whoever asks. @throws Error when they can't be had now
   */
  asked(partition: number, waiting: readonly NotificationId[]): Promise<readonly AskedCancel[]>;
  /** Of these, whose rounds have ended already, as far as is known. @throws Error when it can't be known now */
  ended(due: readonly DueAttempt[]): Promise<readonly AskedCancel[]>;
}

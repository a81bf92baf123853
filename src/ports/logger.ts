// Structured logs. Never a secret, a body or a whole recipient in a field.

export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** `fields.err` may hold the Error. */
  error(message: string, fields?: LogFields): void;
}

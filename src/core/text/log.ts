/** What every room may say to the operator, without knowing who writes it down. Fields never hold a secret. */
export interface Log {
  debug(fields: object, msg: string): void;
  info(fields: object, msg: string): void;
  warn(fields: object, msg: string): void;
  error(fields: object, msg: string): void;
}

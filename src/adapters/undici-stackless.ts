/**
 * Undici ends a connection by way of errors that nobody ever sees. To write down where each one came from, and to
 * make text of it, takes a ninth of what a poll costs: so until this turn of the loop is over, no error has a stack.
 */
export function forgoStacksThisTurn(): void {
  const usual = Error.stackTraceLimit;
  if (usual === 0) return;
  Error.stackTraceLimit = 0;
  queueMicrotask(() => {
    Error.stackTraceLimit = usual;
  });
}

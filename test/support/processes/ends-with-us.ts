import type { ChildProcess } from "node:child_process";

/** A test that runs out of time disposes of nothing: what it started must not outlive it, and go on. */
const alive = new Set<ChildProcess>();
process.once("exit", endAll);
// As the test runner ends its workers.
process.once("SIGTERM", () => {
  endAll();
  process.exit();
});

function endAll(): void {
  for (const child of alive) child.kill("SIGKILL");
}

export function endWithUs(child: ChildProcess): void {
  alive.add(child);
  child.once("exit", () => alive.delete(child));
}

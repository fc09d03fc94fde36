import type { Program } from "../../tools/stack/program.ts";

const alive = new Set<Program>();
process.once("exit", () => {
  for (const program of alive) program.signal("SIGTERM");
});

/** A bench that is interrupted must leave nothing behind that goes on polling. */
export function endWithUs(program: Program): Program {
  alive.add(program);
  void program.ended.then(() => alive.delete(program));
  return program;
}

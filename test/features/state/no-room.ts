import { StateFile } from "../../../src/features/state/file.ts";
import { NOW_MS } from "./bench.ts";

/** Opens a state file where no file may grow, and ends without a word, as a process that is killed does. */
const [path = ""] = process.argv.slice(2);
const reply = new StateFile(path).open(NOW_MS);
process.stdout.write(reply.kind === "opened" ? `${reply.trouble?.says}` : reply.faults.join("; "), () =>
  process.exit(),
);

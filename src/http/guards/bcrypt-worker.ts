import { parentPort } from "node:worker_threads";
import { compareSync } from "bcryptjs";

/** In a thread of its own: bcrypt on the main one would hold up polls, and lengthen the latencies they measure. */
parentPort?.on("message", ({ password, hash }: { password: string; hash: string }) => {
  parentPort?.postMessage(compareSync(password, hash), []);
});

import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Attack } from "../attack.ts";
import { crowd, requestFor } from "../crowd.ts";

const CHANGES_EVERY_MS = 2_000;

/** A reload takes memory too: the changed config is read beside the running one. */
export const attack: Attack = {
  name: "200 scrapers that do not read, while the config changes",
  run: async (target, signal) => {
    const unread = crowd(target, signal, 200, (socket) => {
      socket.write(requestFor("/metrics"));
    });
    while (!signal.aborted) {
      await appendFile(join(target.folder, "pacewatch.yaml"), "\n");
      await sleep(CHANGES_EVERY_MS, undefined, { signal }).catch(() => {});
    }
    await unread;
  },
};

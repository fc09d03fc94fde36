import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hashSync } from "bcryptjs";
import type { Attack } from "../attack.ts";
import { crowd, requestFor } from "../crowd.ts";

const PASSWORD = "test-password";
/** As many as may wait for a check. */
const DIFFERENT = 256;
/** With the rest of the head, nearly as long as a head may be. */
const PADDING = `X-Padding: ${"x".repeat(12_000)}`;

export const attack: Attack = {
  name: "256 guessed passwords, then one of them again on 300 connections that leave at once",
  user: `test-user:${PASSWORD}`,
  config: async (folder) => {
    // The usual cost, so that the queue stays full.
    const users = `basic_auth_users:\n  test-user: ${hashSync(PASSWORD, 10)}\n`;
    await writeFile(join(folder, "web.yaml"), users);
    return { web: { probe_listen: "127.0.0.1:0", config_file: "web.yaml" } };
  },
  run: async (target, signal) => {
    let count = 0;
    await crowd(target, signal, 300, (socket) => {
      count += 1;
      const guess = Buffer.from(`test-user:guess ${Math.min(count, DIFFERENT)}`).toString("base64");
      socket.resume().write(requestFor("/metrics", [`Authorization: Basic ${guess}`, PADDING]), () => {
        setTimeout(() => socket.destroy(), 20);
      });
    });
  },
};

import { expect, test } from "vitest";
import { AppReload, type ReloadParts } from "../../src/app/reload.ts";
import { createLogger } from "../../src/adapters/log/logger.ts";
import { ConfigDirectory, loaded, withUpstream } from "../config/config-file.ts";
import { VirtualClock } from "../support/virtual/clock.ts";

test("a reload that fails by a bug is told as not successful, until one succeeds", async () => {
  await using directory = await ConfigDirectory.create();
  const text = withUpstream("auth: { none: true }");
  let hasBug = true;
  const parts = {
    configPath: await directory.write(text),
    environment: {},
    withdraw: () => {},
    clock: new VirtualClock(),
    stopping: new AbortController().signal,
    onChanged: () => {},
    log: createLogger({ level: "info", out: { write: () => {} } }),
    polling: {
      exclusively: async () => {
        if (hasBug) throw new Error("a bug");
        return [];
      },
    },
  };
  await using reload = new AppReload(await loaded(text), parts as unknown as ReloadParts);
  const { lastSuccessAtMs } = reload.status;
  await expect(reload.run("asked")).rejects.toThrow("a bug");
  expect(reload.status).toEqual({ successful: false, lastSuccessAtMs });
  hasBug = false;
  expect(await reload.run("asked")).toEqual({ kind: "reloaded" });
  expect(reload.status.successful).toBe(true);
});

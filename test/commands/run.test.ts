import { EventEmitter } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createLogger } from "../../src/features/log/logger.ts";
import { run } from "../../src/commands/run.ts";
import { openConfigFolder, rawUpstream, type RawConfig } from "../support/config-folder.ts";

type Refused = { readonly code: number; readonly said: string; readonly log: string };

/** A start that is refused, as the process would say it; `files` stand beside the config. */
async function refusalOf(
  changes: Partial<RawConfig>,
  files: Readonly<Record<string, string>> = {},
): Promise<Refused> {
  await using folder = await openConfigFolder({
    budgets: { api: { rate: { requests: 600, per: "1m" } } },
    upstreams: [rawUpstream("email", "http://127.0.0.1:9")],
    ...changes,
  });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder.folder, name), text);
  const events = Object.assign(new EventEmitter(), {
    exit: (code: number): never => {
      throw new Error(`ended at once with ${code}`);
    },
  });
  let [said, log] = ["", ""];
  const code = await run({
    configPath: folder.path,
    listen: { host: "127.0.0.1", port: 0 },
    environment: {},
    withdraw: () => {},
    log: createLogger({ level: "info", out: { write: (line) => void (log += line) } }),
    events,
    err: (text) => void (said += text),
  });
  // Nothing that it listened to is left behind.
  expect(events.eventNames()).toEqual([]);
  return { code, said, log };
}

describe("it does not start, says why in one line, and may be started again,", () => {
  test("where a variable is not set, which may come", async () => {
    const auth = { bearer: { env: "PACEWATCH_TEST_NEVER_SET" } };
    const upstreams = [rawUpstream("email", "${PACEWATCH_TEST_NEVER_SET}", { auth })];
    const { code, said, log } = await refusalOf({ upstreams });
    expect({ code, log }).toEqual({ code: 1, log: "" });
    expect(said).toContain("PACEWATCH_TEST_NEVER_SET is not set");
  });

  test("where a key file cannot be read", async () => {
    const auth = { bearer: { file: "key.txt" } };
    const upstreams = [rawUpstream("email", "http://127.0.0.1:9", { auth })];
    const { code, said, log } = await refusalOf({ upstreams });
    expect({ code, log }).toEqual({ code: 1, log: "" });
    expect(said).toMatch(
      /^\S+pacewatch\.yaml:\d+:\d+: "upstreams\[0\]\.auth\.bearer\.file": .*no such file\n$/,
    );
  });

  test("where the web config has a fault", async () => {
    const { code, said } = await refusalOf(
      { web: { config_file: "web.yaml" } },
      { "web.yaml": "basic_auth_users:\n  prometheus: not-a-hash\n" },
    );
    expect(code).toBe(1);
    expect(said).toMatch(/^\S*web\.yaml:2:\d+: .*\n$/);
    expect(said).not.toContain("not-a-hash");
  });

  test("where its certificate is missing", async () => {
    const { code, said } = await refusalOf(
      { web: { config_file: "web.yaml" } },
      { "web.yaml": "tls_server_config: { cert_file: server.crt, key_file: server.key }\n" },
    );
    expect(code).toBe(1);
    expect(said).toMatch(
      /^\S*web\.yaml:1:33: "tls_server_config\.cert_file" must be a readable file: there is no such file: \S+$/m,
    );
  });
});

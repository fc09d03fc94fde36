import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { dashboard } from "../../src/commands/dashboard.ts";
import { rules } from "../../src/commands/rules.ts";

const CONFIG = `
web: { listen: "127.0.0.1:12345" }
budgets: { api: { rate: { requests: 600, per: 1m } } }
upstreams:
  - { name: api, base_url: "\${UNSET_URL}", auth: { bearer: { env: UNSET_KEY } }, budget: api, every: 15s }
`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pacewatch-commands-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function told(
  command: typeof rules | typeof dashboard,
  config: string,
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const configPath = join(folder, "pacewatch.yaml");
  await writeFile(configPath, config);
  let out = "";
  let err = "";
  const code = await command({
    configPath,
    environment: {},
    out: (text) => (out += text),
    err: (text) => (err += text),
  });
  return { code, out, err };
}

describe("rules and dashboard", () => {
  test("need no variable and no key", async () => {
    const printed = await told(rules, CONFIG);
    expect(printed).toMatchObject({ code: 0, err: "" });
    expect(printed.out).toContain('pacewatch_objective_ratio{upstream="api"}');
  });

  test("the dashboard links to the status page of this config", async () => {
    const printed = await told(dashboard, CONFIG);
    expect(printed).toMatchObject({ code: 0, err: "" });
    expect(printed.out).toContain('"http://localhost:12345/"');
  });

  test.each([rules, dashboard])(
    "a config that is refused prints its faults, and nothing else",
    async (command) => {
      const printed = await told(command, CONFIG.replace("every: 15s", "every: 7s"));
      expect(printed).toMatchObject({ code: 1, out: "" });
      expect(printed.err).toMatch(/pacewatch\.yaml:\d+:\d+: /);
    },
  );
});

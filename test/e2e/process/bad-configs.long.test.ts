import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatFault } from "../../../src/config/read/fault.ts";
import { load } from "../../../src/app/features/sections.ts";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream, type RawConfig } from "../../support/config-folder.ts";
import { launch, startDaemon } from "../../support/processes/daemon.ts";
import { sampleValue } from "../../support/metrics/exposition-parser.ts";
import { accountOf, openAccounts } from "../../support/metrics/slot-accounts.ts";

const FIXTURES = join(import.meta.dirname, "../../fixtures/config");
const KINDS = readdirSync(FIXTURES).filter((file) => file.endsWith(".yaml"));
const ENVIRONMENT = { TEST_KEY: "test-key-that-must-not-be-shown", BIG_PORT: "70000" };

/** A start takes a while: these stand for the others, which are all tried at a reload. */
const STARTED_WITH = [
  { command: "check", kind: "does-not-fit" },
  { command: "check", kind: "latin-1" },
  { command: "check", kind: "many-faults" },
  { command: "run", kind: "alias-bomb" },
  { command: "run", kind: "many-faults" },
  { command: "run", kind: "unset-variable" },
];

describe.concurrent("a bad config", () => {
  it.each(STARTED_WITH)(
    "ends $command with every fault at its place, and nothing else: $kind",
    async ({ kind, command }) => {
      const path = join(FIXTURES, `${kind}.yaml`);
      const loading = await load(path, { environment: ENVIRONMENT });
      const faults = loading.kind === "refused" ? loading.faults.map(formatFault) : [];
      expect(faults.length).toBeGreaterThan(0);
      await using program = launch([command, "--config", path], ENVIRONMENT);
      // A variable may be set by the next start.
      const code = command === "run" && kind !== "unset-variable" ? 78 : 1;
      expect(await program.exited).toEqual({ code, signal: null });
      const said = program.stderr
        .trim()
        .split("\n")
        .map((line) => line.trim());
      const places = said.filter((line) => /:\d+:\d+: /.test(line));
      expect(places).toEqual(faults);
      // The check counts them first.
      expect(said.length - places.length).toBe(command === "check" ? 1 : 0);
      expect(program.stdout + program.stderr).not.toMatch(/^\s+at |Error:|must-not-be-shown/m);
    },
  );

  it("of whatever kind is refused by the program that runs, with every fault at its place, and it polls on", async () => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    const good: RawConfig = {
      web: { enable_lifecycle: true },
      budgets: { api: { rate: { requests: 600, per: "1m" } } },
      upstreams: [rawUpstream("email", upstream.url)],
    };
    await using folder = await openConfigFolder(good);
    await using daemon = await startDaemon({ configPath: folder.path, environment: ENVIRONMENT });
    expect(KINDS.length).toBeGreaterThanOrEqual(22);
    const slotsBefore = accountOf(await daemon.metrics(), "email").slots;
    for (const kind of KINDS) {
      await folder.write(await readFile(join(FIXTURES, kind)));
      const { status, body } = await daemon.post("/-/reload");
      expect({ kind, status }).toEqual({ kind, status: 400 });
      for (const line of body.trimEnd().split("\n")) {
        expect(`${kind} ${line}`).toMatch(/^\S+ \S+pacewatch\.yaml:\d+:\d+: \S/);
      }
      expect(body).not.toContain("must-not-be-shown");
    }
    const after = await daemon.metrics();
    expect(sampleValue(after, "pacewatch_config_last_reload_successful")).toBe(0);
    expect(accountOf(after, "email").slots).toBeGreaterThanOrEqual(slotsBefore);
    expect(openAccounts(after)).toEqual([]);
    await folder.write(good);
    expect((await daemon.post("/-/reload")).status).toBe(200);
    expect(daemon.stdout).not.toContain("must-not-be-shown");
    expect(daemon.stderr).toBe("");
    // Each of them starts a thread, from the sources.
  }, 600_000);
});

it("that is no file at all is a fault of its own, and a wrong command is told from a wrong config", async () => {
  await using missing = launch(["check", "--config", "/nowhere/pacewatch.yaml"]);
  expect((await missing.exited).code).toBe(1);
  expect(missing.stderr).toContain("/nowhere/pacewatch.yaml:1:1: cannot read config: there is no such file");
  await using unknown = launch(["chekc"]);
  expect((await unknown.exited).code).toBe(2);
  expect(unknown.stderr).not.toMatch(/^\s+at /m);
});

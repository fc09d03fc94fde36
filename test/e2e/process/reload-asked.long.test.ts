import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type SimulatedUpstream, startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream, type RawConfig } from "../../support/config-folder.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { type Families, sampleValue } from "../../support/metrics/exposition-parser.ts";
import { accountsOf } from "../../support/metrics/slot-accounts.ts";

function configOf(upstream: SimulatedUpstream, names: readonly string[]): RawConfig {
  return {
    web: { enable_lifecycle: true },
    budgets: { api: { rate: { requests: 600, per: "1m" } } },
    upstreams: names.map((name) => rawUpstream(name, upstream.url)),
  };
}

function namesIn(families: Families): readonly string[] {
  return accountsOf(families).map(({ upstream }) => upstream);
}

describe.concurrent("a reload is asked for", () => {
  it("while the shell still looks for its Node.js, and nothing ends", async () => {
    await using folder = await openConfigFolder("");
    const looked = `[ "$2" = -v ] && kill -HUP $PPID; exec "${process.execPath}" "$@"`;
    await writeFile(join(folder.folder, "node"), `#!/bin/sh\n${looked}\n`, { mode: 0o755 });
    const child = spawn(join(import.meta.dirname, "../../../bin/pacewatch.mjs"), ["--version"], {
      env: { PATH: `${folder.folder}:${process.env["PATH"]}` },
      stdio: "ignore",
    });
    expect(await once(child, "close")).toEqual([0, null]);
  });

  it("by SIGHUP, whatever the lifecycle setting says", async () => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    await using folder = await openConfigFolder({ ...configOf(upstream, ["email"]), web: {} });
    await using daemon = await startDaemon({ configPath: folder.path });
    await folder.write({
      ...configOf(upstream, ["email"]),
      web: {},
      budgets: { api: { rate: { requests: 1_200, per: "1m" } } },
      log: { level: "debug" },
    });
    daemon.kill("SIGHUP");
    await daemon.logged("config reloaded");
    const families = await daemon.metrics();
    expect(sampleValue(families, "pacewatch_budget_limit_requests", { budget: "api" })).toBe(1_200);
    expect(sampleValue(families, "pacewatch_budget_cap_requests", { budget: "api" })).toBe(240);
    await daemon.logged("polled");
  });

  it("by POST only where the config allows it, and the permission itself is reloaded", async () => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    await using folder = await openConfigFolder({ ...configOf(upstream, ["email"]), web: {} });
    await using daemon = await startDaemon({ configPath: folder.path });
    expect((await daemon.post("/-/reload")).status).toBe(403);
    await folder.write(configOf(upstream, ["email"]));
    daemon.kill("SIGHUP");
    await daemon.logged("config reloaded");
    expect((await daemon.post("/-/reload")).status).toBe(200);
    expect((await daemon.get("/-/reload")).status).toBe(405);
  });

  it("by the file itself when it changes, once a change", async () => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    await using folder = await openConfigFolder(configOf(upstream, ["email"]));
    await using daemon = await startDaemon({ configPath: folder.path });
    await folder.write(configOf(upstream, ["email", "router"]));
    await daemon.logged("config reloaded");
    expect(namesIn(await daemon.metrics())).toEqual(["email", "router"]);
    // As an editor that writes in place.
    await writeFile(folder.path, JSON.stringify(configOf(upstream, ["router"])));
    await eventually(
      "one upstream is left",
      async () => namesIn(await daemon.metrics()),
      ({ length }) => length === 1,
    );
    expect(daemon.logs.filter(({ msg }) => msg === "config reloaded")).toHaveLength(2);
  });

  it("by every swap of a mounted ConfigMap's link", async () => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    await using folder = await openConfigFolder("");
    // What a kubelet does: a directory for each version, a link to the newest, and the file a link through it.
    const publish = async (version: string, names: readonly string[]): Promise<void> => {
      await mkdir(join(folder.folder, version));
      const text = JSON.stringify(configOf(upstream, names));
      await writeFile(join(folder.folder, version, "pacewatch.yaml"), text);
      await symlink(version, join(folder.folder, "..data_tmp"));
      await rename(join(folder.folder, "..data_tmp"), join(folder.folder, "..data"));
    };
    await publish("..version_1", ["email"]);
    await symlink(join("..data", "pacewatch.yaml"), join(folder.folder, ".link"));
    await rename(join(folder.folder, ".link"), folder.path);
    await using daemon = await startDaemon({ configPath: folder.path });
    expect(namesIn(await daemon.metrics())).toEqual(["email"]);
    for (const [version, names] of [
      ["..version_2", ["email", "router"]],
      ["..version_3", ["router"]],
      ["..version_4", ["router", "search"]],
    ] as const) {
      await publish(version, names);
      await eventually(
        `${version} is in use`,
        async () => namesIn(await daemon.metrics()).join(),
        (shown) => shown === names.join(),
      );
    }
  });
});

import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream, type RawConfig } from "../../support/config-folder.ts";
import { launch, startDaemon } from "../../support/processes/daemon.ts";
import { accountsOf, openAccounts } from "../../support/metrics/slot-accounts.ts";

const URL_OF_NOBODY = "http://127.0.0.1:9";

function configOf(changes: Partial<RawConfig> = {}): RawConfig {
  return {
    budgets: { api: { rate: { requests: 600, per: "1m" } } },
    upstreams: [rawUpstream("email", URL_OF_NOBODY)],
    ...changes,
  };
}

/** Exit code 1 unless another is said, nothing on standard output, and on standard error what is wrong: no stack trace. */
async function refusalOf(configPath: string, listen = "127.0.0.1:0", code = 1): Promise<string> {
  await using daemon = launch(["run", "--config", configPath, "--listen", listen]);
  await daemon.until(({ stderr }) => stderr !== "");
  // Whatever was built before the refusal must not hold the process.
  expect(await daemon.exited).toEqual({ code, signal: null });
  expect(daemon.logs.filter(({ msg }) => msg === "listening")).toEqual([]);
  expect(daemon.stderr).not.toMatch(/^\s+at /m);
  return daemon.stderr;
}

describe.concurrent("the exit code", () => {
  it.each([
    { args: ["check", "--config", "no-such-file.yaml"], code: 1 },
    { args: ["chekc"], code: 2 },
  ])("of $args is $code", async ({ args, code }) => {
    await using command = launch(args);
    expect(await command.exited).toEqual({ code, signal: null });
  });

  it("of check is 1 where what --config names has something in common with another file", async () => {
    await using one = await openConfigFolder(configOf());
    await using another = await openConfigFolder(configOf());
    await using command = launch(["check", "--config", one.path, another.path]);
    expect(await command.exited).toEqual({ code: 1, signal: null });
    expect(command.stdout).toContain(`${one.path} fits`);
    expect(command.stderr).toContain(`${another.path} is refused`);
  });

  it("of help is 0, and what is nothing by default is not named there as a default", async () => {
    await using help = launch(["rules", "--help"]);
    expect(await help.exited).toEqual({ code: 0, signal: null });
    expect(help.stdout).toMatch(/^ *--label <name=value> +a label of every alert$/m);
    expect(help.stdout.match(/\(default: .*\)/g)).toEqual(['(default: "config/pacewatch.yaml")']);
  });

  it("is explained by the help and by the docs, every one", async () => {
    await using help = launch(["--help"]);
    expect(await help.exited).toEqual({ code: 0, signal: null });
    const page = await readFile(join(import.meta.dirname, "../../../docs/command-line.md"), "utf8");
    for (const code of ["0", "1", "2", "78", "130", "143"]) {
      expect(help.stdout).toMatch(new RegExp(`^ .*\\b${code}\\b.*  `, "m"));
      expect(page).toMatch(new RegExp(`^\\| .*\\b${code}\\b.* \\|`, "m"));
    }
  });
});

describe.concurrent("it does not start, and says why in one line,", () => {
  it("where its port is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    await using folder = await openConfigFolder(configOf());
    const refusal = await refusalOf(folder.path, `127.0.0.1:${port}`);
    expect(refusal).toBe(
      `cannot listen on 127.0.0.1:${port}: the address is already in use. Set another one with --listen or web.listen\n`,
    );
    other.close();
    await once(other, "close");
  });

  it("where the config itself is wrong, with a code of its own: a restart would not mend it", async () => {
    await using folder = await openConfigFolder(configOf({ budgets: {} }));
    expect(await refusalOf(folder.path, undefined, 78)).toContain('must name a budget, received "');
  });
});

it("is ready once it says that it listens, and the accounts of its upstreams are there", async () => {
  await using upstream = await startSimulatedUpstream({ name: "api" });
  await using folder = await openConfigFolder(configOf({ upstreams: [rawUpstream("email", upstream.url)] }));
  await using daemon = await startDaemon({ configPath: folder.path });
  expect((await daemon.get("/-/ready")).status).toBe(200);
  expect(daemon.logs.find(({ msg }) => msg === "listening")).toMatchObject({ level: "info", upstreams: 1 });
  const families = await daemon.metrics();
  expect(accountsOf(families).map(({ upstream }) => upstream)).toEqual(["email"]);
  expect(openAccounts(families)).toEqual([]);
});

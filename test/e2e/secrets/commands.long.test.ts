import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { launch } from "../../support/processes/daemon.ts";
import { CANARIES, type CanaryWorld, leaksIn, openCanaryWorld } from "./canaries.ts";

let world: CanaryWorld;

beforeAll(async () => {
  world = await openCanaryWorld();
});

beforeEach(() => world.writeFiles());

afterAll(() => world[Symbol.asyncDispose]());

describe("no key leaves,", () => {
  it("in what the other commands print", async () => {
    const commands = [["check"], ["check", "--json"], ["probe"], ["probe", "--json"]];
    await Promise.all(
      commands.map(async (command) => {
        const { code, outputs } = await printed(command, world.environment);
        expect(code).toBe(command[0] === "check" ? 0 : 1);
        expect([...outputs.values()][0]).not.toBe("");
        expect(leaksIn(outputs)).toEqual([]);
      }),
    );
  });

  it("where the config cannot be used because of the key itself", async () => {
    const twisted = {
      ...world.environment,
      BEARER_KEY: `${CANARIES.bearer.key}\u0001é`,
      QUERY_KEY: " ",
      NODE_DEBUG: "test",
    };
    const commands = [["run"], ["check"], ["check", "--json"], ["probe", "--json"]];
    await Promise.all(
      commands.map(async (command) => {
        const { code, outputs } = await printed(command, twisted);
        expect(code).toBe(1);
        expect([...outputs.values()].join("")).toContain("cannot read key");
        expect([...outputs.values()].join("").includes("NODE_DEBUG is set")).toBe(command[0] === "run");
        expect(leaksIn(outputs)).toEqual([]);
      }),
    );
  });
});

type Printed = { readonly code: number | null; readonly outputs: ReadonlyMap<string, string> };

async function printed(
  command: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<Printed> {
  await using done = launch([...command, "--config", world.folder.path], variables);
  const { code } = await done.exited;
  const outputs = new Map([
    [`standard output of ${command.join(" ")}`, done.stdout],
    [`standard error of ${command.join(" ")}`, done.stderr],
  ]);
  return { code, outputs };
}

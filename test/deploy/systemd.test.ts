import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { requireBinary } from "../support/processes/binaries.ts";
import { keysIn, loadShipped } from "./shipped-config.ts";

const UNIT = "deploy/systemd/pacewatch.service";
const CONFIG = "deploy/systemd/pacewatch.yaml";
const CREDENTIALS = "${CREDENTIALS_DIRECTORY}";
/** In tenths. Without hardening it is 96; what is left is the network and the just-in-time compiler. */
const MOST_EXPOSURE = 15;

const ANALYZE = requireBinary("systemd-analyze");
const unit = readFileSync(UNIT, "utf8");
const settings = (name: string): readonly string[] =>
  unit
    .split("\n")
    .filter((line) => line.startsWith(`${name}=`))
    .map((line) => line.slice(name.length + 1));

/** Throws with what it printed when it finds a fault. */
function analyze(unitText: string, ...parameters: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "pacewatch-unit-"));
  try {
    const file = join(folder, "pacewatch.service");
    writeFileSync(file, unitText);
    return execFileSync(ANALYZE ?? "", [...parameters, file], { encoding: "utf8", stdio: "pipe" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test.skipIf(ANALYZE === undefined)("systemd itself finds the unit little exposed", () => {
  const threshold = `--threshold=${MOST_EXPOSURE}`;
  expect(analyze(unit, "security", "--offline=true", "--no-pager", threshold)).toContain("OK");
  const softened = unit.replace("SystemCallFilter=@system-service\n", "").replace("PrivateUsers=yes\n", "");
  expect(() => analyze(softened, "security", "--offline=true", "--no-pager", threshold)).toThrow(
    "Command failed",
  );
});

test.skipIf(ANALYZE === undefined)(
  "systemd itself finds nothing in the unit that it does not understand",
  () => {
    // Nothing is installed at the unit's own place here.
    const here = unit.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`);
    const verify = ["verify", "--man=no", "--recursive-errors=no"];
    expect(analyze(here, ...verify)).toBe("");
    expect(() => analyze(here.replace("RestartSec=5s", "RestartSec=soon\nExecStart="), ...verify)).toThrow(
      "Command failed",
    );
  },
);

const isNoFlag = (word: string): boolean => !word.startsWith("-");

test("the unit starts the program that the package has, and gives it longer to end than it needs", () => {
  const [, ...words] = settings("ExecStart")[0]?.split(" ") ?? [];
  const [program, ...parameters] = words.filter((word, index) => index >= words.findIndex(isNoFlag));
  const { bin } = JSON.parse(readFileSync("package.json", "utf8")) as { bin: { pacewatch: string } };
  expect(program).toBe(`/opt/pacewatch/lib/node_modules/pacewatch/${bin.pacewatch}`);
  expect(parameters).toEqual(["run", "--config", "/etc/pacewatch/pacewatch.yaml"]);
  expect(Number.parseInt(settings("TimeoutStopSec")[0] ?? "", 10)).toBeGreaterThan(10);
});

test("the unit loads each key that the config beside it reads, and nothing else", () => {
  const loaded = settings("LoadCredential").map((credential) => credential.split(":")[0]);
  expect(loaded).toEqual(keysIn(readFileSync(CONFIG, "utf8"), CREDENTIALS));
  expect(loaded.length).toBeGreaterThan(0);
});

test("the config beside the unit fits, with nothing to warn of", async () => {
  expect(await loadShipped(CONFIG, CREDENTIALS)).toMatchObject({ kind: "loaded", warnings: [] });
});

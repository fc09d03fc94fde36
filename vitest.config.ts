import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { UNDICI_CLIENT } from "./tools/package/bundle.ts";

/** What `npm test` has no time for: whole fleets, builds, a browser, a Prometheus, minutes of the real clock. */
const LONG = "test/**/*.long.test.ts";
const E2E = "test/e2e/**";
/** Of random worlds, which the long run tries many of. */
const WORLDS = [
  "test/features/fleet/lead/takeover.test.ts",
  "test/features/history/kept-values.test.ts",
  "test/features/notify/receiver.test.ts",
  "test/features/quota/reservation.test.ts",
  "test/kernel/budget/vantages.test.ts",
  "test/kernel/schedule/{cron-expression,time-zones}.test.ts",
  "test/simulation/simulation.test.ts",
];

/**
 * The quick tests start the program as it is shipped, in half the time that the sources take; the long ones start the
 * sources. Both start what `PACEWATCH_UNDER_TEST` names, if it names one.
 */
const PROGRAM = {
  PACEWATCH_UNDER_TEST: "bundle",
  PACEWATCH_BUNDLE: join(tmpdir(), `pacewatch-bundle-${process.pid}`),
};

/** Each thread of the program that a test starts compiles the sources anew: with this, a twelfth less CPU in all. */
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/pacewatch");

const config: ViteUserConfig = defineConfig({
  test: {
    // Worker threads would share one process title, umask and set of signal handlers.
    pool: "forks",
    // By itself the runner leaves one core of two idle.
    maxWorkers: 3,
    // Of what tests make most is garbage at once: a larger young heap takes a twelfth less CPU.
    execArgv: ["--max-semi-space-size=32"],
    // Only to end what waits in vain: a machine with other things to do takes several times as long as a quiet one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    projects: [
      {
        extends: true,
        test: {
          name: "e2e",
          include: [`${E2E}/*.test.ts`],
          exclude: [LONG],
          env: process.env["PACEWATCH_UNDER_TEST"] === undefined ? PROGRAM : {},
          globalSetup: "./test/support/processes/build-bundle.ts",
        },
      },
      {
        extends: true,
        // One process for many files: for a quick file, the start of its process was most of the time.
        test: { name: "unit", isolate: false, include: ["test/**/*.test.ts"], exclude: [E2E, LONG] },
      },
      { extends: true, test: { name: "unit-long", include: [LONG], exclude: [E2E] } },
      { extends: true, test: { name: "worlds-long", include: WORLDS, env: { WORLDS_TIMES: "10" } } },
      {
        extends: true,
        // The transport once more, with what the bundle has of undici: faults.test.ts needs its errors, which are not exported.
        resolve: { alias: [{ find: /^undici$/, replacement: UNDICI_CLIENT }] },
        test: {
          name: "transport-bundled-long",
          isolate: false,
          include: ["test/transport/*.test.ts"],
          exclude: ["test/transport/faults.test.ts"],
        },
      },
      {
        extends: true,
        // These boot whole fleets and watch real seconds: after all others.
        test: { name: "e2e-long", include: [`${E2E}/*.long.test.ts`], sequence: { groupOrder: 1 } },
      },
    ],
  },
});

export default config;

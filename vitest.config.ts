import { defineConfig, type ViteUserConfig } from "vitest/config";

/** What `npm test` has no time for: whole fleets, mutants, a browser, a Prometheus, minutes of the real clock. */
const LONG = ["test/**/*.long.test.ts", "test/simulation/fleet/**/*.test.ts"];

const UNIT = {
  // By itself the runner leaves one core of two idle.
  maxWorkers: 3,
};
const E2E = {
  // These boot whole programs and watch real seconds, most of them waiting: after all others, and more at once.
  sequence: { groupOrder: 1 },
  maxWorkers: 4,
};

const config: ViteUserConfig = defineConfig({
  test: {
    // Worker threads would share one process title, umask and set of signal handlers.
    pool: "forks",
    // Only to end what waits in vain: a machine with other things to do takes several times as long as a quiet one.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    projects: [
      {
        extends: true,
        test: { name: "unit", include: ["test/**/*.test.ts"], exclude: ["test/e2e/**", ...LONG], ...UNIT },
      },
      { extends: true, test: { name: "e2e", include: ["test/e2e/**/*.test.ts"], exclude: LONG, ...E2E } },
      { extends: true, test: { name: "unit-long", include: LONG, exclude: ["test/e2e/**"], ...UNIT } },
      { extends: true, test: { name: "e2e-long", include: ["test/e2e/**/*.long.test.ts"], ...E2E } },
    ],
  },
});

export default config;

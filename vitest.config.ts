import { defineConfig, type ViteUserConfig } from "vitest/config";

const testsOf = (folder: string): string => `test/${folder}/**/*.test.ts`;

const config: ViteUserConfig = defineConfig({
  test: {
    // Worker threads would share one process title, umask and set of signal handlers.
    pool: "forks",
    // By itself the runner leaves one core of two idle.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["contract", "simulation", "e2e"].map(testsOf),
        },
      },
      { extends: true, test: { name: "contract", include: [testsOf("contract")] } },
      { extends: true, test: { name: "simulation", include: [testsOf("simulation")] } },
      {
        extends: true,
        test: {
          name: "e2e",
          include: [testsOf("e2e")],
          // These boot whole programs and watch real seconds, most of them waiting: after all others, and more at once.
          sequence: { groupOrder: 1 },
          maxWorkers: 4,
          // Only to end what waits in vain: a machine with other things to do takes several times as long as a quiet one.
          testTimeout: 90_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});

export default config;

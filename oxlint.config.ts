import { defineConfig, type OxlintConfig } from "oxlint";

/**
 * The order of the house: arrows point down only. Each list goes from the ground up; what stands in one line does not
 * know its neighbours. A room may import itself and the rooms below it; `.` is the files that stand in the floor's own
 * folder.
 */
const CORE: readonly (readonly string[])[] = [
  ["text", "time"],
  ["exchange", "schedule", "lead"],
  ["config", "advice", "answer"],
  ["refusal"],
  ["poll"],
  ["budget"],
  ["metrics"],
  ["proof", "status"],
  ["notify"],
  ["history"],
  ["report"],
];

/** These know `core`, `files` and packages, and not each other: they meet in `app`. */
const FLOORS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  files: [["."]],
  adapters: [["."], ["dns", "secrets", "log", "metrics", "redis", "sqlite"], ["undici"]],
  config: [["read", "contract"], ["keys"], ["auth"], ["schema"], ["check"], ["web"], ["."]],
  engine: [["poll", "receivers"], ["notify"]],
  http: [["guards", "page"], ["routes"], ["server"]],
};

const IMPURE_GLOBALS: readonly string[] = [
  "Date",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "performance",
  "process",
  "console",
  "fetch",
  "Buffer",
  "crypto",
];

type Override = NonNullable<OxlintConfig["overrides"]>[number];
type Rules = NonNullable<Override["rules"]>;

function noImports(message: string, group: readonly string[]): Rules {
  return { "eslint/no-restricted-imports": ["error", { patterns: [{ group: [...group], message }] }] };
}

/** Each room of a floor, and those below it. */
function* roomsOf(levels: readonly (readonly string[])[]): Generator<readonly [string, readonly string[]]> {
  const below: string[] = [];
  for (const level of levels) {
    for (const room of level) yield [room, [...below]];
    below.push(...level);
  }
}

function coreRoom(room: string, below: readonly string[]): Override {
  const allowed = ["./*.ts", ...below.map((other) => `../${other}/*.ts`)];
  return {
    files: [`src/core/${room}/**`],
    rules: noImports("core imports nothing but the rooms of core below it.", [
      "*",
      ...allowed.map((path) => `!${path}`),
    ]),
  };
}

function floorRoom(floor: string, room: string, below: readonly string[]): Override {
  const isGround = room === ".";
  const up = isGround ? "../" : "../../";
  const siblings = below.map((other) => {
    if (other === ".") return "../*.ts";
    return isGround ? `./${other}/*.ts` : `../${other}/*.ts`;
  });
  const allowed = ["./*.ts", `${up}core/*/*.ts`, `${up}files/*.ts`, ...siblings];
  return {
    files: [isGround ? `src/${floor}/*` : `src/${floor}/${room}/**`],
    rules: noImports("a floor imports core, files, itself and the rooms below; floors meet in app.", [
      ".*/**",
      ...allowed.map((path) => `!${path}`),
    ]),
  };
}

const HOUSE: readonly Override[] = [
  {
    files: ["src/core/**"],
    rules: {
      ...noImports("core is rooms: no file stands in it directly.", ["*"]),
      "eslint/no-restricted-globals": ["error", ...IMPURE_GLOBALS],
      "eslint/no-restricted-properties": [
        "error",
        { object: "Math", property: "random" },
        { object: "Date", property: "now" },
      ],
    },
  },
  {
    // `Date.UTC` and `Date.parse` are pure: the calendar is made of them here, and nowhere else.
    files: ["src/core/time/**"],
    rules: {
      "eslint/no-restricted-globals": ["error", ...IMPURE_GLOBALS.filter((name) => name !== "Date")],
    },
  },
  ...[...roomsOf(CORE)].map(([room, below]) => coreRoom(room, below)),
  ...Object.entries(FLOORS).flatMap(([floor, levels]) =>
    [...roomsOf(levels)].map(([room, below]) => floorRoom(floor, room, below)),
  ),
  {
    files: ["src/simulator/**"],
    rules: noImports("the simulator judges the rest of the house, so it imports none of it.", ["../**"]),
  },
  {
    files: ["src/app/**"],
    rules: noImports("arrows point down only.", ["**/commands/**", "**/main.ts", "**/simulator/**"]),
  },
  { files: ["src/commands/**"], rules: noImports("arrows point down only.", ["**/main.ts"]) },
  { files: ["src/version.ts"], rules: noImports("the version is a leaf.", ["./**"]) },
];

const config: OxlintConfig = defineConfig({
  plugins: ["typescript", "unicorn", "oxc", "import", "promise", "vitest"],
  categories: { correctness: "error", suspicious: "error", perf: "error" },
  rules: {
    "eslint/no-await-in-loop": "off",
    "eslint/no-shadow": "off",
    "import/no-unassigned-import": "off",
    "import/no-cycle": ["error", { ignoreTypes: false }],
    "import/no-default-export": "error",
    "oxc/no-barrel-file": "error",
    "oxc/no-map-spread": "off",
    "promise/always-return": "off",
    "promise/avoid-new": "off",
    "typescript/no-explicit-any": "error",
    "typescript/no-non-null-assertion": "error",
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": "error",
    "typescript/no-unsafe-type-assertion": "error",
    "typescript/switch-exhaustiveness-check": "error",
    "unicorn/no-array-sort": "off",
    "unicorn/no-array-reverse": "off",
    "unicorn/consistent-function-scoping": "off",
    "unicorn/require-post-message-target-origin": "off",
  },
  overrides: [
    { files: ["*.config.ts"], rules: { "import/no-default-export": "off" } },
    {
      files: ["test/**", "bench/**"],
      rules: {
        "typescript/no-unsafe-type-assertion": "off",
        "vitest/require-mock-type-parameters": "off",
      },
    },
    ...HOUSE,
  ],
});

export default config;

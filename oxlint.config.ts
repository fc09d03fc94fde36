import { defineConfig, type OxlintConfig } from "oxlint";

/**
 * The kernel, from the ground up: what stands in one line does not know its neighbours. A room imports itself and the
 * rooms below it, and nothing else: no package, no Node.js, no clock.
 */
const KERNEL: readonly (readonly string[])[] = [
  ["text", "time"],
  ["exchange", "schedule"],
  ["config"],
  ["poll"],
  ["budget"],
  ["metrics"],
  ["polling"],
];

/** These know the kernel, `platform` and packages, and each the rooms below it of its own; `.` is its own folder. */
const FLOORS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  platform: [["."]],
  proof: [["."]],
  exposition: [["."]],
  transport: [["dns", "secrets"], ["."]],
  config: [["read"], ["keys"], ["schema"], ["check"], ["web"], ["."]],
  http: [["guards", "markup"], ["routes"], ["server"]],
};

/** A floor that knows another one. */
const FLOORS_BELOW: Readonly<Record<string, readonly string[]>> = { config: ["proof"] };

/** What a feature cannot be without. `npm run without` tells who can be taken away. */
const FEATURES: Readonly<Record<string, readonly string[]>> = {
  announcements: [],
  auth: [],
  badges: ["history"],
  expect: [],
  fleet: [],
  hints: [],
  history: [],
  log: [],
  notify: ["history", "status"],
  page: ["history", "status"],
  quota: ["history"],
  refusals: ["hints"],
  report: ["history", "state"],
  state: ["history"],
  status: ["history"],
  streams: [],
  values: ["history"],
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

/** What decides, outside of the kernel: without a clock, a timer or the network. */
const PURE: readonly string[] = [
  "proof",
  "features/announcements",
  "features/fleet/lead",
  "features/hints",
  "features/history",
  "features/notify/plan",
  "features/quota",
  "features/refusals",
  "features/report",
  "features/status",
  "features/streams",
  "features/values",
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

function kernelRoom(room: string, below: readonly string[]): Override {
  const allowed = ["./*.ts", ...below.map((other) => `../${other}/*.ts`)].map((path) => `!${path}`);
  return {
    files: [`src/kernel/${room}/**`],
    rules: noImports("the kernel imports nothing but its own rooms below.", ["*", ...allowed]),
  };
}

function floorRoom(floor: string, room: string, below: readonly string[]): Override {
  const isGround = room === ".";
  const up = isGround ? "../" : "../../";
  const siblings = below.map((other) => {
    if (other === ".") return "../*.ts";
    return isGround ? `./${other}/*.ts` : `../${other}/*.ts`;
  });
  const others = (FLOORS_BELOW[floor] ?? []).map((other) => `${up}${other}/*.ts`);
  const allowed = ["./*.ts", `${up}kernel/*/*.ts`, `${up}platform/*.ts`, ...siblings, ...others];
  return {
    files: [isGround ? `src/${floor}/*` : `src/${floor}/${room}/**`],
    rules: noImports("a floor imports the kernel, platform, itself and its rooms below.", [
      ".*/**",
      ...allowed.map((path) => `!${path}`),
    ]),
  };
}

function featureFolder(feature: string, known: readonly string[]): Override {
  const strangers = Object.keys(FEATURES).filter((other) => other !== feature && !known.includes(other));
  return {
    files: [`src/features/${feature}/**`],
    rules: noImports("a feature imports what it cannot be without, and the floors below.", [
      ...["app", "commands", "simulator", ...strangers].map((folder) => `**/${folder}/**`),
      "**/main.ts",
    ]),
  };
}

const IMPURE: Rules = {
  "eslint/no-restricted-globals": ["error", ...IMPURE_GLOBALS],
  "eslint/no-restricted-properties": [
    "error",
    { object: "Math", property: "random" },
    { object: "Date", property: "now" },
  ],
};

const HOUSE: readonly Override[] = [
  {
    files: ["src/kernel/**"],
    rules: { ...noImports("the kernel is rooms: no file stands in it directly.", ["*"]), ...IMPURE },
  },
  { files: PURE.map((folder) => `src/${folder}/**`), rules: IMPURE },
  {
    // `Date.UTC` and `Date.parse` are pure: the calendar is made of them here, and nowhere else.
    files: ["src/kernel/time/**"],
    rules: {
      "eslint/no-restricted-globals": ["error", ...IMPURE_GLOBALS.filter((name) => name !== "Date")],
    },
  },
  ...[...roomsOf(KERNEL)].map(([room, below]) => kernelRoom(room, below)),
  ...Object.entries(FLOORS).flatMap(([floor, levels]) =>
    [...roomsOf(levels)].map(([room, below]) => floorRoom(floor, room, below)),
  ),
  ...Object.entries(FEATURES).map(([feature, known]) => featureFolder(feature, known)),
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

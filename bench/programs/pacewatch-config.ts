/** Upstreams that differ in their names only. */
export type Fleet = {
  readonly upstreams: number;
  /** `every: 1s` or `cron: …`, as the config says it. */
  readonly schedule: Readonly<{ every: string }> | Readonly<{ cron: string }>;
  /** Where the one of this number is. */
  readonly baseUrl: (number: number) => string;
  readonly connection: "fresh" | "reuse";
  /** Who has signed those that are asked by https. */
  readonly caFile?: string;
  /** Keys of each upstream, each budget and the whole, beside these or in their place. */
  readonly asks?: Asks;
};

export type Asks = {
  readonly upstream?: Readonly<Record<string, unknown>>;
  readonly budget?: Readonly<Record<string, unknown>>;
  readonly root?: Readonly<Record<string, unknown>>;
};

/** As the email delivery API allows it, and the share that is the default. */
const RATE = { requests: 1_000, per: "1m" };
/** Long enough that a machine which cannot carry them all makes them late, not void. */
const TIMEOUT = "30s";
/** Beside the config. */
export const CA_FILE = "ca.pem";

/** JSON is YAML. Each upstream has a budget of its own, as each service has an owner of its own. */
export function pacewatchConfig(fleet: Fleet): string {
  const numbers = Array.from({ length: fleet.upstreams }, (_, number) => number);
  const { upstream, budget, root } = fleet.asks ?? {};
  return JSON.stringify({
    ...root,
    budgets: Object.fromEntries(numbers.map((number) => [nameOf(number), { rate: RATE, ...budget }])),
    upstreams: numbers.map((number) => ({
      name: nameOf(number),
      base_url: fleet.baseUrl(number),
      auth: { bearer: { env: keyNameOf(number) } },
      budget: nameOf(number),
      ...fleet.schedule,
      timeout: TIMEOUT,
      ...(fleet.connection === "fresh" ? {} : { connection: fleet.connection }),
      ...(fleet.baseUrl(number).startsWith("https:") ? { tls: { ca_file: CA_FILE } } : {}),
      ...upstream,
    })),
  });
}

/** Each owner has given a key of its own. */
export function keysOf(upstreams: number): Record<string, string> {
  const keys = Array.from({ length: upstreams }, (_, number) => [keyNameOf(number), `test-key-${number}`]);
  return Object.fromEntries(keys);
}

export function nameOf(number: number): string {
  return `api-${number}`;
}

function keyNameOf(number: number): string {
  return `KEY_${number}`;
}

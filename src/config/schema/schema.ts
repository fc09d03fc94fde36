import { isIP } from "node:net";
import { resolve } from "node:path";
import { z } from "zod";
import { type Config, LOG_LEVELS } from "../../core/config/config.ts";
import { type BudgetTerms, budgetSchema } from "./budget.ts";
import { type InDirectory, pathIn } from "./credentials.ts";
import { fleetSchema } from "./fleet.ts";
import {
  NAME_PATTERN,
  NAME_PHRASE,
  checked,
  filePath,
  flag,
  matching,
  oneOf,
  reading,
  section,
} from "./leaves.ts";
import { parseListen } from "./listen.ts";
import { LISTEN_PATTERN, NETWORK_PATTERN } from "./patterns.ts";
import { REQUIRED_SOMEWHERE, type UpstreamIn, defaultsSchema, upstreamSchema } from "./upstream.ts";

/** All but the budgets and upstreams. */
export type General = Omit<Config, "budgets" | "upstreams">;

/** A valid config, before its directory is known. */
export type ReadConfig = {
  readonly general: InDirectory<General>;
  readonly budgets: Readonly<Record<string, BudgetTerms>>;
  readonly upstreams: readonly UpstreamIn[];
};

const NETWORK_PHRASE = "an address, or a network such as 10.0.0.0/8";

const hostName = matching(
  /^(?:\*|\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})$/,
  "a host's name or address without a port, such as pacewatch.example, or * for any",
);

const network = checked((value) => (isNetwork(value) ? undefined : NETWORK_PHRASE), NETWORK_PHRASE).meta({
  pattern: NETWORK_PATTERN,
});

function isNetwork(text: string): boolean {
  const [address = "", length, more] = text.split("/");
  const family = isIP(address);
  if (family === 0 || address.includes("%") || more !== undefined) return false;
  return length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (family === 6 ? 128 : 32));
}

export const configSchema: z.ZodType<ReadConfig> = section({
  web: section({
    listen: reading(
      LISTEN_PATTERN,
      "an address and port, such as 127.0.0.1:10429 or [::1]:10429",
      parseListen,
    )
      .prefault("127.0.0.1:10429")
      .describe(
        "The address of /metrics and the status page. :10429 listens on all IPv4 addresses, [::]:10429 on all; port 0 takes any free one.",
      ),
    probe_listen: reading(
      LISTEN_PATTERN,
      "an address and port, such as 127.0.0.1:10430 or [::1]:10430",
      parseListen,
    )
      .optional()
      .describe(
        "A second address for /-/healthy and /-/ready alone, in plain HTTP. Probes there are answered however many ask at listen.",
      ),
    config_file: filePath()
      .optional()
      .describe("TLS and basic auth, in the format of Prometheus's exporter-toolkit. Relative to this file."),
    enable_lifecycle: flag()
      .prefault(false)
      .describe("Whether POST /-/reload and POST /-/resume are allowed."),
    allowed_hosts: z
      .array(hostName, { error: "a list of host names" })
      .max(100, { error: "a list of at most 100 host names" })
      .optional()
      .describe(
        'The names that a request may have in Host, besides localhost, 127.0.0.1, [::1] and the listen address; "*" allows any. Default: none where listen is a loopback address, any otherwise.',
      ),
  })
    .prefault({})
    .describe("The HTTP server."),
  log: section({
    level: oneOf(LOG_LEVELS).prefault("info").describe("The lowest level that is logged."),
  })
    .prefault({})
    .describe("The log, JSON lines on standard output."),
  state: section({
    path: filePath().describe(
      "The database file, relative to this file. It is created if it does not exist.",
    ),
  })
    .optional()
    .describe("Keeps history and quotas over restarts. Without it they are kept in memory only."),
  fleet: fleetSchema.optional(),
  deny_addresses: z
    .array(network, { error: "a list of addresses and networks" })
    .max(1_000, { error: "a list of at most 1000 addresses and networks" })
    .optional()
    .describe(
      "Addresses that no poll may connect to, whatever name led there, proxies included. Default: 169.254.0.0/16, fe80::/10, fd00:ec2::254, 0.0.0.0/8 and ::, and loopback addresses that any other name than localhost leads to. What is written here takes the place of all of that.",
    ),
  budgets: z
    .record(z.string().regex(NAME_PATTERN, { error: NAME_PHRASE }), budgetSchema, {
      error: "a mapping of names to budgets",
    })
    .describe("What may be sent, by name. Upstreams that use the same key should share one."),
  defaults: defaultsSchema.optional(),
  upstreams: z
    .array(upstreamSchema, { error: "a list of upstreams" })
    .min(1, { error: "a list of at least one upstream" })
    .max(10_000, { error: "a list of at most 10000 upstreams" })
    .describe(
      "The services that are watched. What all share goes into defaults. Those of a group that are alike can share keys by a merge key: give the first an anchor (&first), and write <<: *first in the others. What an upstream says itself wins.",
    ),
})
  .meta({ allOf: REQUIRED_SOMEWHERE })
  .describe("The configuration of Pacewatch.")
  .transform(({ web, log, state, fleet, deny_addresses, budgets, upstreams }) => ({
    general: (directory: string) => ({
      web: {
        ...web.listen,
        probeListen: web.probe_listen,
        configFile: pathIn(directory, web.config_file),
        enableLifecycle: web.enable_lifecycle,
        allowedHosts: web.allowed_hosts,
      },
      log,
      state: state === undefined ? undefined : { path: resolve(directory, state.path) },
      fleet: fleet?.(directory),
      denyAddresses: deny_addresses,
    }),
    budgets,
    upstreams,
  }));

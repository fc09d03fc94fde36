import { isIP } from "node:net";
import { z } from "zod";
import type { Address, Config, Vantage } from "../../kernel/config/config.ts";
import { type BudgetTerms, budgetSchema } from "./budget.ts";
import {
  NAME_PATTERN,
  NAME_PHRASE,
  checked,
  filePath,
  filledList,
  flag,
  httpUrl,
  list,
  matching,
  name,
  named,
  reading,
  section,
  wholeNumber,
} from "../keys/leaves.ts";
import { parseListen } from "../keys/listen.ts";
import { LISTEN_PATTERN, NETWORK_PATTERN } from "../keys/patterns.ts";
import { type Rule, noted } from "../keys/notes.ts";
import { itemsOf, mappingOf, repeats, ruled } from "../keys/rules.ts";
import { rulesAt, type Section, withSections } from "./section.ts";
import { REQUIRED_SOMEWHERE, type UpstreamKeys, type UpstreamSchemas, upstreamSchemas } from "./upstream.ts";

const NETWORK_PHRASE = "an address, or a network such as 10.0.0.0/8";

const hostName = matching(
  /^(?:\*|\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})$/,
  "a host's name or address without a port, such as pacewatch.example, or * for any",
);

const networkFault = (text: string): string | undefined => (isNetwork(text) ? undefined : NETWORK_PHRASE);
const network = checked(networkFault, NETWORK_PHRASE, NETWORK_PATTERN);

function isNetwork(text: string): boolean {
  const [address = "", length, more] = text.split("/");
  const family = isIP(address);
  if (family === 0 || address.includes("%") || more !== undefined) return false;
  return length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (family === 6 ? 128 : 32));
}

function listen(example: string): z.ZodType<Address, string> {
  const phrase = `an address and port, such as ${example} or ${example.replace("127.0.0.1", "[::1]")}`;
  return reading(LISTEN_PATTERN, phrase, parseListen);
}

const web = {
  listen: listen("127.0.0.1:10429")
    .prefault("127.0.0.1:10429")
    .describe(
      "The address of /metrics and the status page. :10429 listens on all IPv4 addresses, [::]:10429 on all; port 0 takes any free one.",
    ),
  probe_listen: listen("127.0.0.1:10430")
    .optional()
    .describe(
      "A second address for /-/healthy and /-/ready alone, in plain HTTP. Probes there are answered however many ask at listen.",
    ),
  config_file: filePath("web")
    .optional()
    .describe("TLS and basic auth, in the format of Prometheus's exporter-toolkit. Relative to this file."),
  enable_lifecycle: flag().prefault(false).describe("Whether POST /-/reload and POST /-/resume are allowed."),
  page_url: httpUrl()
    .optional()
    .describe(
      "The URL of the status page for people: notifications, alerts and the dashboard link to it. Default: for notifications fleet.advertise, or no link.",
    ),
  allowed_hosts: list(hostName, 100, "host names")
    .optional()
    .describe(
      'The names that a request may have in Host, besides localhost, 127.0.0.1, [::1] and the listen address; "*" allows any. Default: none where listen is a loopback address, any otherwise.',
    ),
};

export const vantageSchema: z.ZodType<Vantage> = section({
  name: noted(name(), { example: "unset" }).describe(
    "The name of this place: a label of every metric. No two have the same, and none may run twice at once.",
  ),
  of: noted(wholeNumber(1, 100), { isNeeded: true }).describe(
    "How many places there are at most: each uses an equal part of every limit, quota and spend. The order in which to change it: scale.md.",
  ),
}).describe(
  "Where several watch the same from different places and share nothing: which of them this one is.",
);

const differentNames: Rule = {
  check: (config, refuse) => {
    const names = itemsOf(mappingOf(config)["upstreams"]).map((upstream) => mappingOf(upstream)["name"]);
    for (const { at, first } of repeats(names)) {
      refuse(["upstreams", at, "name"], (received, nameOf) => {
        const [one, other] = [nameOf(["upstreams", first]), nameOf(["upstreams", at])];
        return one === other && one !== ""
          ? `must differ between the upstreams that it makes, received ${received} twice: write \${each.NAME} of each list into it`
          : `must be unique, received ${received} like ${one}`;
      });
    }
  },
};

/** One metric family has one set of label names. */
const sameLabels: Rule = {
  check: (config, refuse) => {
    const upstreams = itemsOf(mappingOf(config)["upstreams"]);
    const keysOf = (upstream: unknown): string =>
      Object.keys(mappingOf(mappingOf(upstream)["labels"]))
        .sort()
        .join(", ");
    const expected = keysOf(upstreams[0]);
    for (const [index, upstream] of upstreams.entries()) {
      const found = keysOf(upstream);
      if (found === expected) continue;
      const must = `must have the same keys as on upstreams[0] (${expected || "none"}), received ${found || "none"}`;
      refuse(["upstreams", index, "labels"], must, []);
    }
  },
};

/** All but the budgets and upstreams. */
export type General = Omit<Config, "budgets" | "upstreams">;

/** The keys of a config, as they are inside. */
export type ConfigKeys = General & {
  readonly budgets: Readonly<Record<string, BudgetTerms>>;
  readonly defaults: unknown;
  readonly upstreams: readonly UpstreamKeys[];
};

/** All that a config may have, with what features add to it. */
export type ConfigSchema = UpstreamSchemas & {
  readonly sections: readonly Section[];
  readonly config: z.ZodType<ConfigKeys>;
  readonly budget: z.ZodType<BudgetTerms>;
};

export function configSchema(sections: readonly Section[]): ConfigSchema {
  const budget = budgetSchema(sections);
  const upstreams = upstreamSchemas(sections);
  const keys = {
    web: named(ruled(section(withSections(web, "web", sections)), ...rulesAt("web", sections)), {})
      .prefault({})
      .describe("The HTTP server."),
    vantage: vantageSchema.optional(),
    deny_addresses: list(network, 1_000, "addresses and networks")
      .optional()
      .describe(
        "Addresses that no poll may connect to, whatever name led there, proxies included. Default: 169.254.0.0/16, fe80::/10, where else clouds have their metadata service, 0.0.0.0/8 and ::, and loopback addresses that any other name than localhost leads to. What is written here takes the place of all of that.",
      ),
    budgets: z
      .record(z.string().regex(NAME_PATTERN, { error: NAME_PHRASE }), budget, {
        error: "a mapping of names to budgets",
      })
      .describe("What may be sent, by name. Upstreams that use the same key should share one."),
    defaults: upstreams.defaults.optional(),
    upstreams: filledList(upstreams.upstream, 10_000, "upstreams", ", each after a dash (-)").describe(
      "The services that are watched. What all share goes into defaults. Those of a group that are alike can share keys by a merge key: give the first an anchor (&first), and write <<: *first in the others. What an upstream says itself wins.",
    ),
  };
  const config = named(
    ruled(
      section(withSections(keys, "config", sections)),
      differentNames,
      sameLabels,
      ...rulesAt("config", sections),
    )
      .meta({ allOf: REQUIRED_SOMEWHERE })
      .describe("The configuration of Pacewatch."),
    {},
  );
  return { ...upstreams, sections, config, budget };
}

/** What people know an upstream by, and where they look: labels of metrics and alerts, links for the page and the alerts. */

import { z } from "zod";
import { LINK_LABEL } from "../../kernel/config/config.ts";
import { wordSet } from "../../kernel/text/word-set.ts";
import { checked, matching, text } from "../keys/leaves.ts";
import { type Rule, noted } from "../keys/notes.ts";
import { mappingOf, ruled } from "../keys/rules.ts";
import { urlFault } from "../keys/upstream-url.ts";

type Texts = Readonly<Record<string, string>>;

/** Labels that a metric, a scrape or an alert sets itself. */
const RESERVED: ReadonlySet<string> = wordSet(`
  alertname alertstate budget cause code exported_instance exported_job instance job le name node outcome per phase
  quantile quota reason severity state upstream vantage version window`);

const freeNames: Rule = {
  check: (labels, refuse) => {
    for (const label of Object.keys(mappingOf(labels))) {
      // Links are labels too.
      if (!RESERVED.has(label) && !label.startsWith(LINK_LABEL)) continue;
      refuse([label], "is a label that metrics, scrapes or alerts set themselves: choose another name", []);
    }
  },
};

const LABEL_NAME_PATTERN = /^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$/;

export const labelsSchema: z.ZodType<Texts, Texts> = noted(
  ruled(
    z
      .record(
        matching(LABEL_NAME_PATTERN, "a Prometheus label name"),
        text("a text of at most 128 characters (quote numbers)", 128),
        { error: "a mapping of label names to texts" },
      )
      .meta({
        propertyNames: {
          pattern: LABEL_NAME_PATTERN.source,
          not: { anyOf: [{ enum: [...RESERVED] }, { pattern: `^${LINK_LABEL}` }] },
        },
      }),
    freeNames,
  ),
  { isNeeded: true },
);

const LINK_PATTERN = /^https?:\/\/(?!.*["'<>\\^`{|}])[!-~]{1,500}$/i;
const LINK_PHRASE = "an http:// or https:// URL";

/** It may have a fragment: nobody requests it but a browser. */
const link = noted(
  checked(
    (url) => (LINK_PATTERN.test(url) ? urlFault(url.replace(/#.*$/, "")) : LINK_PHRASE),
    LINK_PHRASE,
    "^[Hh][Tt][Tt][Pp][Ss]?://",
  ),
  { example: "https://unset.invalid" },
);

/** More would push the numbers of its alerts out of sight. */
const MOST_LINKS = 10;

export const linksSchema: z.ZodType<Texts, Texts> = z
  .record(matching(/^[a-z][a-z0-9_]{0,31}$/, "a name of small letters, digits and underscores"), link, {
    error: "a mapping of names to URLs",
  })
  .refine((links) => Object.keys(links).length <= MOST_LINKS, {
    error: `a mapping of at most ${MOST_LINKS} names to URLs`,
  });

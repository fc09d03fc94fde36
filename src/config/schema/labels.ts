/** What people know an upstream by: labels of metrics and alerts. */

import { z } from "zod";
import { LINK_LABEL } from "../../kernel/config/config.ts";
import { wordSet } from "../../kernel/text/word-set.ts";
import { matching, text } from "../keys/leaves.ts";
import { type Rule, noted } from "../keys/notes.ts";
import { mappingOf, ruled } from "../keys/rules.ts";

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

export const labelsSchema: z.ZodType<
  Readonly<Record<string, string>>,
  Readonly<Record<string, string>>
> = noted(
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
  { isNeeded: true, isMerged: true },
);

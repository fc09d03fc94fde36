/** Where people look in an outage: for the page and the alerts. */

import { z } from "zod";
import { checked, matching } from "../../config/keys/leaves.ts";
import { noted } from "../../config/keys/notes.ts";
import { urlFault } from "../../config/keys/upstream-url.ts";
import type { Section } from "../../config/schema/section.ts";

declare module "../../kernel/config/config.ts" {
  interface Upstream {
    /** URLs by name. */
    readonly links?: Readonly<Record<string, string>> | undefined;
  }
}

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

const linksSchema: z.ZodType<Readonly<Record<string, string>>> = z
  .record(matching(/^[a-z][a-z0-9_]{0,31}$/, "a name of small letters, digits and underscores"), link, {
    error: "a mapping of names to URLs",
  })
  .refine((links) => Object.keys(links).length <= MOST_LINKS, {
    error: `a mapping of at most ${MOST_LINKS} names to URLs`,
  });

export const STATUS: Section = {
  at: "upstream",
  shape: {
    links: noted(linksSchema, { isMerged: true })
      .optional()
      .describe(
        "Where people look in an outage, such as status_page, support and runbook: on its page, and as annotations link_NAME of its alerts.",
      ),
  },
};

import { oneOf, section } from "../../config/keys/leaves.ts";
import type { Section } from "../../config/schema/section.ts";

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

declare module "../../kernel/config/config.ts" {
  interface Config {
    readonly log?: { readonly level: LogLevel } | undefined;
  }
}

export const LOG: Section = {
  at: "config",
  before: "vantage",
  shape: {
    log: section({
      level: oneOf(LOG_LEVELS).prefault("info").describe("The lowest level that is logged."),
    })
      .prefault({})
      .describe("The log, JSON lines on standard output."),
  },
};

import type { LOG_LEVELS } from "../../kernel/config/config.ts";

export type LogLevel = (typeof LOG_LEVELS)[number];

declare module "../../kernel/config/config.ts" {
  interface Config {
    readonly log?: { readonly level: LogLevel } | undefined;
  }
}

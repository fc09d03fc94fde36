import { filePath, section } from "../../config/keys/leaves.ts";
import type { Section } from "../../config/schema/section.ts";

declare module "../../kernel/config/config.ts" {
  interface Config {
    readonly state?: { readonly path: string } | undefined;
  }
}

export const STATE: Section = {
  at: "config",
  before: "vantage",
  shape: {
    state: section({
      path: filePath("written").describe(
        "The database file, relative to this file. It is created if it does not exist.",
      ),
    })
      .optional()
      .describe("Keeps history and quotas over restarts. Without it they are kept in memory only."),
  },
};

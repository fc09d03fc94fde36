import { flag } from "../../config/keys/leaves.ts";
import type { Section } from "../../config/schema/section.ts";

declare module "../../kernel/config/config.ts" {
  interface Web {
    /** Whether `/badge/NAME.svg` is served. */
    readonly badges?: boolean | undefined;
  }
}

export const BADGES: Section = {
  at: "web",
  shape: {
    badges: flag()
      .prefault(false)
      .describe("Whether /badge/NAME.svg tells an upstream's state, availability and latency as a picture."),
  },
};

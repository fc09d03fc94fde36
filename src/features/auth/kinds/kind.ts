import type { z } from "zod";
import type { Auth } from "../../../kernel/config/config.ts";

/** One way to authenticate. `KINDS` in `auth.ts` has them all. */
export type AuthKind<Of extends Auth = Auth> = {
  readonly schema: z.core.$ZodType<Of>;
  /** The headers that it sends, in lower case, of what is written: no header of the config may have the same name. */
  readonly header?: (written: Readonly<Record<string, unknown>>) => string | readonly string[];
};

export type AuthOf<Kind extends Auth["kind"]> = Extract<Auth, { readonly kind: Kind }>;

/** Parts of undici without the rest of it, which would cost 12 MB and a tenth of a second (docs/performance.md). */

declare module "undici/lib/dispatcher/client.js" {
  import { Client } from "undici";
  export { Client as default };
}

declare module "undici/lib/core/errors.js" {
  import { errors } from "undici";
  const HTTPParserError: typeof errors.HTTPParserError;
  export { HTTPParserError };
}

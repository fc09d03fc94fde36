/** undici's client without the rest of undici, which would cost 12 MB and a tenth of a second (docs/performance.md). */

declare module "undici/lib/dispatcher/client.js" {
  import { Client } from "undici";
  export { Client as default };
}

declare module "undici/lib/core/symbols.js" {
  const symbols: { kParser: symbol };
  export default symbols;
}

declare module "undici/lib/core/errors.js" {
  const errors: { InformationalError: new (message?: string, options?: ErrorOptions) => Error };
  export default errors;
}

/** As much as we use of packages that come without types. */

declare module "express" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  type Handler = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
  type Application = ((request: IncomingMessage, response: ServerResponse) => void) & {
    use(handler: unknown): void;
    disable(setting: string): void;
    get(path: RegExp, handler: Handler): void;
  };
  export default function express(): Application;
}

declare module "koa" {
  import type { RequestListener } from "node:http";

  export default class Koa {
    use(middleware: unknown): void;
    callback(): RequestListener;
  }
}

declare module "koa-ratelimit" {
  type Options = {
    readonly driver: "memory";
    readonly db: Map<unknown, unknown>;
    readonly max: number;
    readonly duration: number;
    readonly disableHeader?: boolean;
  };
  export default function ratelimit(options: Options): unknown;
}

import type { Context } from "hono";
import { compressible, type Compressible, prefersGzip } from "./compressible.ts";
import { type DoorEnv, whenOver } from "../guards/guard.ts";

const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export type MetricsSource = (isGzipWelcome: boolean) => Compressible | Promise<Compressible>;

export type MetricsRoute = (c: Context<DoorEnv>) => Promise<Response>;

/** A scrape occupies its place until its last byte is handed over, so slow readers count too. */
export function metricsRoute(metrics: MetricsSource, maxScrapes: number): MetricsRoute {
  let scrapes = 0;
  return async (c) => {
    c.header("Vary", "Accept-Encoding");
    if (scrapes >= maxScrapes) {
      c.header("Retry-After", "1");
      return c.text(`cannot serve metrics: at most ${maxScrapes} scrapes at once are served\n`, 503);
    }
    scrapes += 1;
    whenOver(c.env, () => (scrapes -= 1));
    const text = await metrics(prefersGzip(c.req.header("accept-encoding")));
    c.header("Content-Type", CONTENT_TYPE);
    return compressible(c, text);
  };
}

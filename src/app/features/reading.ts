import { streamReading } from "../../features/streams/stream.ts";
import type { Upstream } from "../../kernel/config/config.ts";
import type { BodyReading } from "../../transport/body-reader.ts";

/** How an answer may be read, if not as a whole. */
const READINGS: readonly ((upstream: Partial<Upstream>) => BodyReading | undefined)[] = [streamReading];

export function bodyReadingOf(upstream: Partial<Upstream>): BodyReading | undefined {
  return READINGS.map((readingOf) => readingOf(upstream)).find((reading) => reading !== undefined);
}

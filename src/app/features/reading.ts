import { readingOf } from "../../features/streams/stream.ts";
import type { Upstream } from "../../kernel/config/config.ts";
import type { BodyReading } from "../../transport/body-reader.ts";

/** How the answers of an upstream are read, if not as a whole. */
export function bodyReadingOf({ stream }: Upstream): BodyReading | undefined {
  return stream && readingOf(stream);
}

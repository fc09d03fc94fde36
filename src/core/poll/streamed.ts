import type { StreamMeasures } from "../exchange/stream.ts";
import { type Reader, reader } from "./reader.ts";

/** Nothing where no stream began. */
export const STREAM: Reader<StreamMeasures> = reader("stream", ({ observation }) => observation.stream);

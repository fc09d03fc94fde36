/** Answers that are read as a stream of events. */

import { z } from "zod";
import { STREAM_FORMATS } from "./event-reader.ts";
import type { Stream } from "./stream.ts";
import {
  duration,
  named,
  oneOf,
  pointer,
  scalar,
  section,
  text,
  wholeNumber,
} from "../../config/keys/leaves.ts";
import { type Rule, noted } from "../../config/keys/notes.ts";
import { itemsOf, mappingOf } from "../../config/keys/rules.ts";
import { ofBody } from "../../config/schema/request.ts";
import type { Section } from "../../config/schema/section.ts";

/** Events are read on the polling thread. */
const MOST_EVENTS = 1_000;

const eventPointer = pointer("a JSON pointer, such as /choices/0/delta/content", { least: 1 });

const ENDS_PHRASE = "end, { data: TEXT } or { path: POINTER, equals: VALUE }";
const endsSchema = z.union(
  [
    z.literal("end", { error: ENDS_PHRASE }),
    section({ data: text("a text", 256).describe("The event whose data is exactly this, such as [DONE].") }),
    section({
      path: eventPointer.describe("The event that has a value at this JSON pointer."),
      equals: scalar.describe("Exactly this value: a text, a number, true or false."),
    }),
  ],
  { error: ENDS_PHRASE },
);

const keys = section({
  format: oneOf(STREAM_FORMATS).describe("sse: Server-Sent Events. ndjson: JSON, one value a line."),
  ends: noted(endsSchema, { example: "end" })
    .prefault("end")
    .describe(
      "By which event the stream tells that it is complete: an answer that ends without it has failed. end: by the end of the answer.",
    ),
  at_most: wholeNumber(1, MOST_EVENTS)
    .prefault(64)
    .describe("After so many events the connection is closed at once, and the poll is ok if one counted."),
  gap_timeout: duration(10, 60_000, "10s")
    .optional()
    .describe(
      "How long it may be without an event, once its head has come. Default: the timeout of the poll.",
    ),
  counts: section({
    path: eventPointer.describe("Where an event that counts has something: neither null nor an empty text."),
  })
    .optional()
    .describe(
      "Which events count: the first tells how long the first token took, and between two of them is a gap. A stream in which none counts has failed. Without it, each event counts.",
    ),
});

const streamSchema: z.ZodType<Stream> = named(keys, { gap_timeout: "gapTimeoutMs" }).describe(
  "Reads the answer as a stream of events, and closes it as soon as it has said enough. Assertions and values look at its last event unless they say of.",
);

/** Nothing is joined where no place is named that counts. */
const streamIsRead: Rule = {
  check: (upstream, refuse) => {
    const { stream, expect, values } = mappingOf(upstream);
    const looking = [
      ...itemsOf(mappingOf(expect)["body"]).map((each, index) => [each, ["expect", "body", index]] as const),
      ...itemsOf(values).map((each, index) => [each, ["values", index]] as const),
    ];
    for (const [each, at] of looking) {
      const { of, header } = mappingOf(each);
      if (of === undefined) continue;
      if (header !== undefined) refuse([...at, "of"], "must not be set where header is", []);
      else if (stream === undefined) refuse([...at, "of"], "must not be set where there is no stream", []);
      else if (of === "joined" && mappingOf(stream)["counts"] === undefined) {
        refuse(
          [...at, "of"],
          "must not be joined where stream has no counts: say there which texts are joined",
        );
      }
    }
  },
};

export const STREAMS: Section = {
  at: "upstream",
  before: "auth",
  shape: { stream: streamSchema.optional() },
  rules: [streamIsRead, ofBody("stream")],
};

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  EventReader,
  type StreamEvent,
  type StreamFormat,
} from "../../../src/features/streams/event-reader.ts";
import { EVENT_CHARS } from "../../../src/transport/body-reader.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function eventsIn(format: StreamFormat, pieces: readonly Uint8Array[]): readonly StreamEvent[] {
  const reader = new EventReader(format);
  const events = pieces.flatMap((piece) => [...reader.read(piece)]);
  const last = reader.finish();
  return last === undefined ? events : [...events, last];
}

/** The standard, word by word, with the whole text at hand. */
function eventsByTheStandard(bytes: Uint8Array): readonly StreamEvent[] {
  const text = new TextDecoder().decode(bytes);
  const lines = text.split(/\r\n|\r|\n/);
  lines.pop();
  const events: StreamEvent[] = [];
  let [name, data, hasData] = ["", "", false];
  for (const line of lines) {
    if (line === "") {
      if (hasData) events.push({ name, data: data.replace(/\n$/, "") });
      [name, data, hasData] = ["", "", false];
      continue;
    }
    const [, field = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "data") [data, hasData] = [`${data}${value}\n`, true];
    if (field === "event") name = value;
  }
  return events;
}

const piece = fc.oneof(
  fc.constantFrom("data: ", "data:", "data", "event: ", "event", "id: 1", "retry: 10", ":", " ", "\uFEFF"),
  fc.constantFrom("\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n", "\u2028"),
  fc.constantFrom('{"a":1}', "[DONE]", "ok", "é", "日本", "😀", "x: y", "\0"),
);
const stream = fc.array(piece, { maxLength: 40 }).map((pieces) => bytesOf(pieces.join("")));
const anyBytes = fc.uint8Array({ maxLength: 60 });
const cuts = fc.array(fc.nat(200), { maxLength: 12 });

function split(bytes: Uint8Array, at: readonly number[]): readonly Uint8Array[] {
  const places = [...at, bytes.length].map((place) => Math.min(place, bytes.length)).sort((a, b) => a - b);
  return places.map((place, index) => bytes.subarray(places[index - 1] ?? 0, place));
}

const bytewise = (bytes: Uint8Array): readonly Uint8Array[] => [...bytes].map((byte) => Uint8Array.of(byte));

describe("Server-Sent Events", () => {
  it("are what the standard says, wherever the stream is split", () => {
    fc.assert(
      fc.property(fc.oneof(stream, anyBytes), cuts, (bytes, at) => {
        const expected = eventsByTheStandard(bytes);
        expect(eventsIn("sse", [bytes])).toEqual(expected);
        expect(eventsIn("sse", bytewise(bytes))).toEqual(expected);
        expect(eventsIn("sse", split(bytes, at))).toEqual(expected);
      }),
      { numRuns: 400 },
    );
  });

  it("come with byte order mark, CRLF, comments, names and several lines of data", () => {
    const text =
      "\uFEFF: hi\r\nretry: 3000\r\nid: 7\r\nevent: delta\r\ndata: one\r\ndata:two\r\n\r\ndata\r\n\r\nevent: lost\r\n\r\ndata: cut";
    expect(eventsIn("sse", [bytesOf(text)])).toEqual([
      { name: "delta", data: "one\ntwo" },
      { name: "", data: "" },
    ]);
  });

  it("a comment of a megabyte is passed over, and an event that is longer than any may be is not kept", () => {
    const megabyte = "x".repeat(1024 * 1024);
    expect(eventsIn("sse", [bytesOf(`:${megabyte}\ndata: a\n\n`)])).toEqual([{ name: "", data: "a" }]);
    for (const line of [`data: ${megabyte}`, `${megabyte}: x`, "data: 1234567\n".repeat(9_000)]) {
      const reader = new EventReader("sse");
      expect([...reader.read(bytesOf(`${line}\n\ndata: b\n\n`))]).toEqual([]);
      expect(reader.isTooLong).toBe(true);
      expect([...reader.read(bytesOf("data: c\n\n"))]).toEqual([]);
    }
    const whole = "x".repeat(EVENT_CHARS - "data: ".length);
    expect(eventsIn("sse", [bytesOf(`data: ${whole}\n\n`)])).toEqual([{ name: "", data: whole }]);
  });

  it("who stops asking gets none of the rest", () => {
    for (const event of new EventReader("sse").read(bytesOf("data: 1\n\ndata: 2\n\n"))) {
      expect(event.data).toBe("1");
      break;
    }
  });
});

describe("JSON by lines", () => {
  it("has one event for each line that is not blank, wherever it is split, and the last may lack its end", () => {
    const line = fc.constantFrom('{"a":1}', "1", " ", "", '{"t":"é😀"}', "\t", '{"b":\r2}', ": x");
    fc.assert(
      fc.property(
        fc.array(line),
        fc.constantFrom("\n", "\r\n"),
        fc.boolean(),
        cuts,
        (lines, end, ends, at) => {
          const text = lines.join(end) + (ends ? end : "");
          const expected = lines.filter((each) => each.trim() !== "");
          const bytes = bytesOf(text);
          for (const pieces of [[bytes], bytewise(bytes), split(bytes, at)]) {
            expect(eventsIn("ndjson", pieces).map(({ data }) => data)).toEqual(expected);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

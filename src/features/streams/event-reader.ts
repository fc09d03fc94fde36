/** From the bytes of a stream to its events: Server-Sent Events as the HTML standard has them, or JSON, one value a line. */

import { EVENT_CHARS } from "../../transport/body-reader.ts";

export const STREAM_FORMATS = ["sse", "ndjson"] as const;
export type StreamFormat = (typeof STREAM_FORMATS)[number];

/** `name` is empty for most, and for all of NDJSON. */
export type StreamEvent = { readonly name: string; readonly data: string };

/** Each byte is looked at once, however it is split, and kept only while its event is incomplete. */
export class EventReader {
  readonly #isSse: boolean;
  /** It drops a byte order mark at the beginning, and replaces what is not UTF-8. */
  readonly #decoder = new TextDecoder();
  /** It is only added to until it ends: looking into it would copy it each time. */
  #line = "";
  #isComment = false;
  #name = "";
  #data: string | undefined;
  #endedInCr = false;
  /** An event is longer than any may be: nothing is read any more. */
  isTooLong = false;

  constructor(format: StreamFormat) {
    this.#isSse = format === "sse";
  }

  /** Of the event that is not complete yet. */
  get keptChars(): number {
    return this.#line.length + (this.#data?.length ?? 0);
  }

  /** The events that end in this piece. Who stops asking gets none of the rest. */
  *read(piece: Uint8Array): Generator<StreamEvent> {
    const text = this.#decoder.decode(piece, { stream: true });
    if (text === "") return;
    // It is the second half of the line end that the piece before ended in.
    let from = this.#endedInCr && text.startsWith("\n") ? 1 : 0;
    this.#endedInCr = this.#isSse && text.endsWith("\r");
    // In JSON a carriage return is white space.
    const lineEnds = this.#isSse ? /\r\n?|\n/g : /\n/g;
    for (lineEnds.lastIndex = from; ; from = lineEnds.lastIndex) {
      const at = lineEnds.exec(text)?.index;
      if (at === undefined) break;
      if (at > from) this.#add(text.slice(from, at));
      if (this.isTooLong) return;
      const event = this.#endLine();
      if (event !== undefined) yield event;
    }
    if (from < text.length) this.#add(text.slice(from));
  }

  /** Where the whole answer has come: NDJSON may lack its last line end. An event of SSE that is incomplete is none. */
  finish(): StreamEvent | undefined {
    return this.#isSse ? undefined : this.#endLine();
  }

  /** A comment may be of any length, as nothing of it is kept. */
  #add(part: string): void {
    if (this.#line === "" && part.startsWith(":")) this.#isComment = this.#isSse;
    if (this.#isComment) return;
    this.#line += part;
    this.isTooLong = this.keptChars > EVENT_CHARS;
  }

  #endLine(): StreamEvent | undefined {
    const line = this.#line;
    this.#line = "";
    if (!this.#isSse) return line.trim() === "" ? undefined : { name: "", data: line.replace(/\r$/, "") };
    if (line !== "" || this.#isComment) {
      this.#isComment = false;
      this.#readField(line);
      return undefined;
    }
    const data = this.#data;
    const event = data === undefined ? undefined : { name: this.#name, data };
    this.#name = "";
    this.#data = undefined;
    return event;
  }

  #readField(line: string): void {
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    else if (field === "event") this.#name = value;
  }
}

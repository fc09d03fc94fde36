import { parentPort } from "node:worker_threads";
import { messageOf } from "../core/text/escape.ts";
import { type ReportQuestion, writeReport } from "./report.ts";

export type ReportReply =
  | { readonly kind: "written"; readonly parts: readonly Uint8Array<ArrayBuffer>[] }
  | { readonly kind: "failed"; readonly message: string };

const PART_CHARS = 65_536;
const UTF8 = new TextEncoder();

parentPort?.on("message", (question: ReportQuestion) => {
  try {
    const parts = [...partsOf(writeReport(question))];
    reply(
      { kind: "written", parts },
      parts.map(({ buffer }) => buffer),
    );
  } catch (error) {
    reply({ kind: "failed", message: messageOf(error) }, []);
  }
});

function reply(reply: ReportReply, moved: readonly ArrayBuffer[]): void {
  parentPort?.postMessage(reply, moved);
}

/** Handed over without a copy. */
function* partsOf(pieces: Iterable<string>): Generator<Uint8Array<ArrayBuffer>> {
  let text = "";
  for (const piece of pieces) {
    text += piece;
    if (text.length < PART_CHARS) continue;
    yield UTF8.encode(text);
    text = "";
  }
  yield UTF8.encode(text);
}

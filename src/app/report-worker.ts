import { parentPort } from "node:worker_threads";
import { messageOf } from "../core/text/escape.ts";
import { type ReportQuestion, writeReport } from "./report.ts";

export type ReportReply =
  | { readonly kind: "written"; readonly parts: readonly Uint8Array<ArrayBuffer>[] }
  | { readonly kind: "failed"; readonly message: string };

const UTF8 = new TextEncoder();

/** The parts are handed over without a copy. */
parentPort?.on("message", (question: ReportQuestion) => {
  try {
    const parts = Array.from(writeReport(question), (part) => UTF8.encode(part));
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

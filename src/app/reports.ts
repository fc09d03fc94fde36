import { Thread } from "../adapters/thread.ts";
import type { ReportQuestion } from "./report.ts";
import type { ReportReply } from "./report-worker.ts";

/** A thread reads the state file and writes a report, at a lower priority than polls. It is there only meanwhile. */
export async function reportInThread(question: ReportQuestion): Promise<Iterable<Uint8Array>> {
  const module = new URL("./report-worker.ts", import.meta.url);
  const thread = new Thread({ name: "report", module, canWait: true });
  try {
    const reply = await thread.ask<ReportReply>(question);
    if (reply.kind === "written") return reply.parts;
    throw reply.kind === "failed" ? new Error(reply.message) : (reply.error ?? new Error("its thread ended"));
  } finally {
    await thread.end();
  }
}

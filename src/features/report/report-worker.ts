import { parentPort } from "node:worker_threads";
import type { ReportQuestion } from "./question.ts";
import { writeReport } from "./reporting.ts";

const UTF8 = new TextEncoder();

/** The parts are handed over without a copy. */
parentPort?.on("message", (question: ReportQuestion) => {
  const what = Array.from(writeReport(question), (part) => UTF8.encode(part));
  const moved = what.map(({ buffer }) => buffer);
  parentPort?.postMessage({ kind: "answered", what }, moved);
});

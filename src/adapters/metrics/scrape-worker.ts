import { parentPort } from "node:worker_threads";
import type { ScrapeSubjects } from "../../core/metrics/scrape-frame.ts";
import type { ScrapeReply, ScrapeRequest } from "./scrape-thread.ts";
import { ScrapeText } from "./scrape-text.ts";

/** Never changed: waiting for a change is a sleep. */
const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** Also after a part in which the process stood still, as on SIGSTOP: only the clock went on. */
const LONGEST_REST_MS = 100;

let subjects: ScrapeSubjects = { upstreams: [], budgets: [], vantage: undefined };
const texts = new Map<number, ScrapeText>();

parentPort?.on("message", hear);

function hear(request: ScrapeRequest): void {
  if (request.kind === "subjects") {
    subjects = request.subjects;
    return;
  }
  const { scrape } = request;
  switch (request.kind) {
    case "begin":
      texts.set(scrape, new ScrapeText({ subjects, numbers: request.numbers }));
      return;
    case "ending":
      texts.get(scrape)?.end(request.text);
      break;
    case "more":
      texts.get(scrape)?.ask();
      break;
    case "leave":
      texts.delete(scrape);
      return;
    default:
      request satisfies never;
  }
  answer(scrape);
}

function answer(scrape: number): void {
  const beganMs = performance.now();
  const made = texts.get(scrape)?.takeAsked();
  if (made === undefined) return;
  parentPort?.postMessage({ scrape, ...made } satisfies ScrapeReply, [made.part.buffer]);
  rest(performance.now() - beganMs);
}

/** As long as it worked: so that polls get a core, or the share of one that a container has. */
function rest(forMs: number): void {
  Atomics.wait(never, 0, 0, Math.min(forMs, LONGEST_REST_MS));
}

import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { basename } from "node:path";
import { parentPort } from "node:worker_threads";
import type { ScrapeCast } from "../core/scrape-frame.ts";
import type { ScrapeReply, ScrapeRequest } from "./scrape-messages.ts";
import { ScrapeText } from "./scrape-text.ts";

/** A text can wait, an answer that is being timed cannot. */
const NICENESS = 10;

let cast: ScrapeCast = { upstreams: [], budgets: [], vantage: undefined };
const texts = new Map<number, ScrapeText>();

giveWay();
parentPort?.on("message", hear);

function hear(request: ScrapeRequest): void {
  if (request.kind === "cast") {
    cast = request.cast;
    return;
  }
  const { scrape } = request;
  switch (request.kind) {
    case "begin":
      texts.set(scrape, new ScrapeText({ cast, numbers: request.numbers }, request.coding));
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
  const made = texts.get(scrape)?.takeAsked();
  if (made === undefined) return;
  parentPort?.postMessage({ scrape, ...made } satisfies ScrapeReply, [made.part.buffer]);
}

/** To the thread that polls, where there are too few cores for both. Linux alone knows priorities of threads. */
function giveWay(): void {
  try {
    setPriority(Number(basename(readlinkSync("/proc/thread-self"))), NICENESS);
  } catch {
    return;
  }
}

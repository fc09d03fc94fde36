import { parentPort } from "node:worker_threads";
import type { ScrapeCast } from "../core/scrape-frame.ts";
import type { ScrapeReply, ScrapeRequest } from "./scrape-messages.ts";
import { ScrapeText } from "./scrape-text.ts";

let cast: ScrapeCast = { upstreams: [], budgets: [], vantage: undefined };
const texts = new Map<number, ScrapeText>();

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

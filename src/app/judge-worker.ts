import { parentPort } from "node:worker_threads";
import { SecretFinder } from "../transport/secrets/finder.ts";
import { decodeBody } from "../transport/decode.ts";
import { type Exchange, headerValue } from "../kernel/exchange/exchange.ts";
import { oneLine } from "../kernel/text/escape.ts";
import { judge } from "../kernel/polling/poll-once.ts";
import { judgingOf, librariesFor } from "./features/judging.ts";
import type { LargeAnswer } from "./large-answers.ts";

parentPort?.on("message", (answer: LargeAnswer) => void judged(answer));

async function judged({ upstream, observation, large, times, begun }: LargeAnswer): Promise<void> {
  const libraries = await librariesFor(upstream);
  // To start and to load libraries is our own work.
  const { user, system } = process.threadCpuUsage();
  Atomics.store(begun, 0, Math.round((user + system) / 1_000));
  const finder = new SecretFinder(large.keys);
  const withoutKeys = (text: string): string => finder.hide(text);
  const exchange = decoded(observation.exchange, large.maxBytes, withoutKeys);
  const seen = { ...observation, exchange, withoutKeys };
  parentPort?.postMessage(judge(upstream, seen, times, judgingOf(upstream, libraries)), []);
}

function decoded(exchange: Exchange, maxBytes: number, withoutKeys: (text: string) => string): Exchange {
  if (exchange.kind === "broken") return exchange;
  const { head } = exchange;
  const read = decodeBody(exchange.body, headerValue(head.headers, "content-encoding"), maxBytes);
  if (read.kind === "decoded") return { ...exchange, body: read.body };
  return { kind: "broken", fault: read.fault, detail: oneLine(withoutKeys(read.detail)), sent: true, head };
}

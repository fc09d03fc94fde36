import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "./answer.ts";

/** Pause between half an answer and the end of its connection, so that the half arrives. */
const HALF_WAY_MS = 20;

/** Sends an answer. Stops when `gone` is aborted, because the caller has left. */
export async function deliver(response: ServerResponse, answer: Answer, gone: AbortSignal): Promise<void> {
  const { delivery } = answer;
  switch (delivery.kind) {
    case "whole":
      writeHead(response, answer);
      response.end(answer.body);
      return;
    case "garbage":
      response.socket?.end(delivery.text);
      return;
    case "drip":
      writeHead(response, answer);
      return drip(response, answer.body, delivery, gone);
    case "truncated":
      writeHalf(response, answer);
      if (await isStillThere(HALF_WAY_MS, gone)) response.socket?.end();
      return;
    case "hang":
      if (delivery.at === "mid_body") writeHalf(response, answer);
      return;
    case "reset":
      if (delivery.at === "mid_body") {
        writeHalf(response, answer);
        if (!(await isStillThere(HALF_WAY_MS, gone))) return;
      }
      response.socket?.resetAndDestroy();
      return;
    default:
      return delivery satisfies never;
  }
}

/** Waits; false if the caller left meanwhile. */
export async function isStillThere(afterMs: number, gone: AbortSignal): Promise<boolean> {
  if (afterMs > 0) await sleep(afterMs, undefined, { signal: gone }).catch(() => undefined);
  return !gone.aborted;
}

function writeHead(response: ServerResponse, { status, headers, body }: Answer): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (status !== 204 && status !== 304) response.setHeader("Content-Length", body.byteLength);
}

function writeHalf(response: ServerResponse, answer: Answer): void {
  writeHead(response, answer);
  response.write(answer.body.subarray(0, Math.floor(answer.body.byteLength / 2)));
}

async function drip(
  response: ServerResponse,
  body: Uint8Array,
  { chunkBytes, everyMs }: { readonly chunkBytes: number; readonly everyMs: number },
  gone: AbortSignal,
): Promise<void> {
  for (let sentBytes = 0; sentBytes < body.byteLength; sentBytes += chunkBytes) {
    if (!(await isStillThere(everyMs, gone))) return;
    response.write(body.subarray(sentBytes, sentBytes + chunkBytes));
  }
  response.end();
}

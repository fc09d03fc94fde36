import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "./answer.ts";
import type { Fault } from "./faults.ts";

/** Pause between half an answer and the end of its connection, so that the half arrives. */
const HALF_WAY_MS = 20;

/** Sends an answer, or what the fault makes of it. Stops when `gone` is aborted, because the caller has left. */
export async function deliver(
  response: ServerResponse,
  answer: Answer,
  fault: Fault,
  gone: AbortSignal,
): Promise<void> {
  if (fault.kind === "garbage") {
    response.socket?.end(fault.text);
    return;
  }
  const body = Buffer.from(answer.body);
  if (fault.kind !== "reset" && fault.kind !== "close" && fault.kind !== "hang") {
    writeHead(response, answer, body.byteLength);
    response.end(body);
    return;
  }
  if (fault.at === "mid_body") {
    writeHead(response, answer, body.byteLength);
    response.write(body.subarray(0, Math.floor(body.byteLength / 2)));
    if (!(await isStillThere(HALF_WAY_MS, gone))) return;
  }
  if (fault.kind === "reset") response.socket?.resetAndDestroy();
  if (fault.kind === "close") response.socket?.end();
}

/** Waits; false if the caller left meanwhile. */
export async function isStillThere(afterMs: number, gone: AbortSignal): Promise<boolean> {
  if (afterMs > 0) await sleep(afterMs, undefined, { signal: gone }).catch(() => undefined);
  return !gone.aborted;
}

function writeHead(response: ServerResponse, { status, headers }: Answer, bodyBytes: number): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (status !== 204 && status !== 304) response.setHeader("Content-Length", bodyBytes);
}

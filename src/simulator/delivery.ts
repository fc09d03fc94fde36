import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "./answer.ts";
import type { Fault } from "./faults.ts";

/** Pause between half an answer and the end of its connection, so that the half arrives. */
const HALF_WAY_MS = 20;

/**
 * Sends an answer, or what the fault makes of it. Stops when `gone` is aborted, because the caller has left. `onTokens` is
 * called for those that a stream has sent.
 */
export async function deliver(
  response: ServerResponse,
  answer: Answer,
  fault: Fault,
  gone: AbortSignal,
  onTokens: (tokens: number) => void,
): Promise<void> {
  if (fault.kind === "garbage") {
    response.socket?.end(fault.text);
    return;
  }
  const body = answer.events === undefined ? Buffer.from(answer.body) : undefined;
  const breaks = fault.kind === "reset" || fault.kind === "close" || fault.kind === "hang";
  if (!breaks || fault.at === "mid_body") {
    writeHead(response, answer, body?.byteLength);
    if (body === undefined) await stream(response, answer, fault, gone, onTokens);
    else response.write(breaks ? body.subarray(0, Math.floor(body.byteLength / 2)) : body);
    if (!breaks) return void response.end();
    if (!(await isStillThere(HALF_WAY_MS, gone))) return;
  }
  if (fault.kind === "reset") response.socket?.resetAndDestroy();
  if (fault.kind === "close") response.socket?.end();
}

/** Up to its middle where a fault is to come there. */
async function stream(
  response: ServerResponse,
  { events = [], charged }: Answer,
  fault: Fault,
  gone: AbortSignal,
  onTokens: (tokens: number) => void,
): Promise<void> {
  const isHalf = fault.kind === "error_event" || "at" in fault;
  for (const { text, tokens } of isHalf ? events.slice(0, Math.ceil(events.length / 2)) : events) {
    if (!(await isStillThere(tokens === 0 ? 0 : (charged?.model.tokenMs ?? 0), gone))) return;
    response.write(text);
    onTokens(tokens);
  }
  if (fault.kind === "error_event") response.write(`data: ${fault.data}\n\n`);
}

/** Waits; false if the caller left meanwhile. */
export async function isStillThere(afterMs: number, gone: AbortSignal): Promise<boolean> {
  if (afterMs > 0) await sleep(afterMs, undefined, { signal: gone }).catch(() => undefined);
  return !gone.aborted;
}

function writeHead(response: ServerResponse, { status, headers }: Answer, bodyBytes?: number): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (bodyBytes !== undefined && status !== 204 && status !== 304)
    response.setHeader("Content-Length", bodyBytes);
}

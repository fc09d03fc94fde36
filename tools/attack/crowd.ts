import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Target } from "./attack.ts";

export function requestFor(path: string, headers: readonly string[] = []): string {
  return [`GET ${path} HTTP/1.1`, "Host: localhost", ...headers, "", ""].join("\r\n");
}

const COMES_BACK_AFTER_MS = 200;

/**
 * So many connections at a time, each of which behaves as told until it is closed; then another takes its place.
 * Nothing is read of them, unless they read.
 */
export async function crowd(
  { url }: Target,
  signal: AbortSignal,
  size: number,
  behave: (socket: Socket, signal: AbortSignal) => void | Promise<void>,
): Promise<void> {
  const { hostname: host, port } = new URL(url);
  const one = async (): Promise<void> => {
    while (!signal.aborted) {
      const socket = connect({ host, port: Number(port) });
      socket.on("error", () => {}).pause();
      // A reset comes before it is closed.
      const closed = once(socket, "close").catch(() => {});
      const end = (): void => void socket.destroy();
      signal.addEventListener("abort", end);
      await behave(socket, signal);
      await closed;
      await sleep(COMES_BACK_AFTER_MS, undefined, { signal }).catch(() => {});
      signal.removeEventListener("abort", end);
    }
  };
  await Promise.all(Array.from({ length: size }, one));
}

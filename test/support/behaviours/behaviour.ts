import type { Names } from "../../../src/transport/route.ts";
import type { Upstream } from "../../../src/kernel/config/config.ts";
import type { Outcome, Reason } from "../../../src/kernel/exchange/reasons.ts";
import type { Script } from "../raw-upstream.ts";
import type { Stage } from "./stage.ts";

/** One way for an upstream, or for what lies before it, to misbehave; and what Pacewatch makes of it. */
export type Behaviour = {
  /** Follows "an upstream that"; no two say the same. */
  readonly does: string;
  readonly open: () => Promise<Stage>;
  /** How it is polled, where a plain poll would not meet it. */
  readonly poll?: Partial<Upstream>;
  /** What a config says under `expect` for that. */
  readonly expect?: object;
  /** In place of the system's resolver. */
  readonly lookup?: Names["addressesOf"];
  /** In place of the key that is not asked for. */
  readonly credential?: () => Promise<string>;
  /** What its body is encoded with, for those who must be told. */
  readonly compression?: "gzip" | "br";
  readonly meets: Meeting;
  /**
   * The poll's own sentence, where HOST stands for the upstream's host and port. Ends with "…" where the rest of it is
   * up to the machine.
   */
  readonly says: string;
};

export type Meeting = "ok" | `${Exclude<Outcome, "ok">} ${Reason}`;

/** What can be expected to come on the busiest machine, and what never comes. */
export const PATIENT_MS = 60_000;
const SHORT_MS = 600;

/** Far more than anybody waits for. */
export const ENDLESS_BYTES = 1e12;

/** For what never comes. */
export const briefly: Partial<Upstream> = { timeoutMs: SHORT_MS };

/** Answers the request with these bytes, then does as it is told. */
export function replies(bytes: string | Uint8Array, then: "end" | "reset" | "stay" = "stay"): Script {
  return async (connection) => {
    await connection.request();
    if (then === "end") return connection.end(bytes);
    connection.write(bytes);
    // Bytes and reset at once would let the reset overtake the bytes.
    if (then === "reset") setTimeout(() => connection.reset(), 50);
  };
}

/** Answers with the first bytes, and then with one more of the others at each beat, over and over. */
export function drips(first: string, bytes: string, everyMs: number): Script {
  return async (connection) => {
    await connection.request();
    connection.write(first);
    let sent = 0;
    const timer = setInterval(() => {
      connection.write(bytes.charAt(sent % bytes.length));
      sent += 1;
    }, everyMs);
    await connection.closed;
    clearInterval(timer);
  };
}

/** Answers with the first bytes, and then with the same piece over and over, as fast as the other side takes it. */
export function pours(first: string, piece: string | Uint8Array, mostBytes: number): Script {
  return async (connection) => {
    const { socket } = connection;
    await connection.request();
    socket.write(first);
    let leftBytes = mostBytes;
    const pour = (): void => {
      if (leftBytes <= 0 || socket.destroyed) return;
      leftBytes -= piece.length;
      // A kernel that takes all at once would never let this process come to anything else.
      socket.write(piece, () => setImmediate(pour));
    };
    pour();
  };
}

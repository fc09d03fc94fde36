import { excerptOf } from "../../../kernel/exchange/excerpt.ts";
import { type Headers, headerValue, type Observation } from "../../../kernel/exchange/exchange.ts";
import { contentOf, readJson } from "../../../kernel/exchange/json-body.ts";
import { parseHttpDate } from "../../../kernel/time/http-date.ts";
import { HOUR_MS, SECOND_MS } from "../../../kernel/time/duration.ts";
import type { Kind } from "./kind.ts";

/** What came of one message. */
export type Delivery =
  | { readonly kind: "delivered"; readonly detail: string }
  /** The same would be refused again. */
  | { readonly kind: "refused"; readonly detail: string }
  | {
      readonly kind: "failed";
      readonly detail: string;
      /** It asked for this. */
      readonly waitMs: number | undefined;
    };

const LONGEST_WAIT_MS = HOUR_MS;
const EXCERPT_CHARACTERS = 200;
/** They say that they cannot take this message: of all others, a key or a receiver may be mended. */
const REFUSALS: ReadonlySet<number> = new Set([400, 413, 422]);

/** Such an answer may repeat the key: nothing of it is kept. */
const REFUSES_KEY: ReadonlySet<number> = new Set([401, 403]);

export function deliveryOf(
  { exchange, withoutKeys }: Pick<Observation, "exchange" | "withoutKeys">,
  kind: Kind,
  wallMs: number,
): Delivery {
  if (exchange.kind === "broken") return { kind: "failed", detail: exchange.detail, waitMs: undefined };
  const { head, body } = exchange;
  const answered = `it answered ${head.status}`;
  if (head.status >= 200 && head.status < 300) return { kind: "delivered", detail: answered };
  const words = REFUSES_KEY.has(head.status)
    ? undefined
    : excerptOf(exchange, EXCERPT_CHARACTERS, withoutKeys);
  const detail = words === undefined ? answered : `${answered}: ${words}`;
  if (REFUSALS.has(head.status)) return { kind: "refused", detail };
  const told = kind.waitMs?.(contentOf(readJson(body)), head.status) ?? 0;
  const asked = Math.max(retryAfterMs(head.headers, wallMs), told);
  return { kind: "failed", detail, waitMs: asked > 0 ? Math.min(asked, LONGEST_WAIT_MS) : undefined };
}

/** In seconds, or a date by the receiver's own clock. */
function retryAfterMs(headers: Headers, wallMs: number): number {
  const written = headerValue(headers, "retry-after")?.trim() ?? "";
  const seconds = Number(written);
  if (Number.isFinite(seconds)) return seconds * SECOND_MS;
  const nowMs = parseHttpDate(headerValue(headers, "date") ?? "", wallMs) ?? wallMs;
  return (parseHttpDate(written, nowMs) ?? nowMs) - nowMs;
}

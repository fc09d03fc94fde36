import type { Exchange } from "../exchange/exchange.ts";
import type { Settlement } from "./ledger.ts";

/** How long the request's lease must be held on: an answer that began proves that it was counted. */
export function settlementOf(exchange: Exchange): Settlement {
  if (exchange.kind === "answered" || exchange.head !== undefined) return "answered";
  return exchange.sent ? "unanswered" : "unsent";
}

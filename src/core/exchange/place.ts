import { type AnswerHead, headerValue } from "./exchange.ts";
import { valueAt } from "./json-pointer.ts";
import type { Part } from "./stream.ts";

/** Where in an answer something stands: in the header of this name in lower case, or at this JSON pointer. */
export type Place =
  | { readonly kind: "header"; readonly name: string }
  /** `of`: of a stream; absent for its last event. */
  | { readonly kind: "json"; readonly pointer: string; readonly of?: Part | undefined };

/** What stands there; undefined for nothing. `json` is asked only for a place in the body. */
export function valueIn(
  place: Place,
  { headers }: AnswerHead,
  json: (of: Part | undefined) => unknown,
): unknown {
  return place.kind === "header" ? headerValue(headers, place.name) : valueAt(json(place.of), place.pointer);
}

import { type AnswerHead, headerValue } from "./exchange.ts";
import { valueAt } from "./json-pointer.ts";

/** Where in an answer something stands: in the header of this name in lower case, or at this JSON pointer. */
export type Place =
  | { readonly kind: "header"; readonly name: string }
  | { readonly kind: "json"; readonly pointer: string };

/** What stands there; undefined for nothing. `json` is asked only for a place in the body. */
export function valueIn(place: Place, { headers }: AnswerHead, json: () => unknown): unknown {
  return place.kind === "header" ? headerValue(headers, place.name) : valueAt(json(), place.pointer);
}

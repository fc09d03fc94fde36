import type { IncomingHttpHeaders } from "node:http";

/** How a caller must show its key. */
export type Key =
  | { readonly kind: "bearer"; readonly value: string }
  | { readonly kind: "header"; readonly name: string; readonly value: string }
  | { readonly kind: "query"; readonly name: string; readonly value: string };

export function carriesKey(key: Key | undefined, target: string, headers: IncomingHttpHeaders): boolean {
  if (key === undefined) return true;
  switch (key.kind) {
    case "bearer":
      return /^bearer (?<token>.*)$/i.exec(headers.authorization ?? "")?.groups?.["token"] === key.value;
    case "header":
      return headers[key.name.toLowerCase()] === key.value;
    case "query":
      return new URLSearchParams(queryOf(target)).get(key.name) === key.value;
    default:
      return key satisfies never;
  }
}

function queryOf(target: string): string {
  const mark = target.indexOf("?");
  return mark === -1 ? "" : target.slice(mark + 1);
}

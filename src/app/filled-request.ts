import type { Payload } from "../transport/request.ts";
import { type Environment, interpolate } from "../config/read/interpolate.ts";
import { joinUrl } from "../config/keys/upstream-url.ts";
import type { RequestBody, Upstream } from "../kernel/config/config.ts";
import { isList, isObject } from "../kernel/text/json.ts";

type FilledRequest = {
  readonly url: string;
  readonly payload: Payload | undefined;
  readonly secrets: readonly string[];
};

/**
 * The request with the variables of its path and body filled in: these are secret, and so are their defaults. They are
 * set, and the file of a body is read: otherwise its config was refused.
 */
export function filledRequest(
  upstream: Pick<Upstream, "url" | "pathTemplate" | "body">,
  environment: Environment,
): FilledRequest {
  const { pathTemplate, body } = upstream;
  const secrets: string[] = [];
  const fill = (text: string): string => {
    const filled = interpolate(text, environment);
    if (filled.kind !== "text") throw new Error("cannot fill in a request: its variables must be set");
    secrets.push(...filled.values);
    return filled.text;
  };
  const payload = body && payloadOf(body, fill);
  const url = pathTemplate ? joinUrl(pathTemplate.base, fill(pathTemplate.path)) : upstream.url;
  return { url, payload, secrets };
}

function payloadOf(body: RequestBody, fill: (text: string) => string): Payload {
  if ("json" in body) {
    const bytes = Buffer.from(JSON.stringify(filledIn(body.json, fill)) ?? "");
    return { type: "application/json", bytes };
  }
  if ("text" in body) return { type: "text/plain; charset=utf-8", bytes: Buffer.from(fill(body.text)) };
  if ("form" in body) {
    const fields = Object.entries(body.form).map(([name, value]): [string, string] => [name, fill(value)]);
    const form = new URLSearchParams(fields).toString();
    return { type: "application/x-www-form-urlencoded", bytes: Buffer.from(form) };
  }
  const type = body.file.endsWith(".json") ? "application/json" : "application/octet-stream";
  return { type, bytes: Buffer.from(body.read?.bytes ?? []) };
}

function filledIn(value: unknown, fill: (text: string) => string): unknown {
  if (typeof value === "string") return fill(value);
  if (isList(value)) return value.map((item) => filledIn(item, fill));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, filledIn(part, fill)]));
}

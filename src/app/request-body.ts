import type { Payload } from "../adapters/undici/request.ts";
import { type Environment, interpolate } from "../config/read/interpolate.ts";
import { variablesInBody } from "../config/read/secrets.ts";
import type { RequestBody } from "../core/config/config.ts";
import type { Opened } from "../core/config/opened.ts";
import { isList, isObject } from "../core/exchange/json-value.ts";

type FilledBody = { readonly payload: Payload; readonly secrets: readonly string[] };

/** The bytes to send, with their variables filled in: these are secret. */
export function filledBody(body: RequestBody, environment: Environment): Opened<FilledBody> {
  let problem = "file" in body && body.read === undefined ? "its file was not read" : undefined;
  const payload = payloadOf(body, (text) => {
    const filled = interpolate(text, environment);
    if (filled.kind === "text") return filled.text;
    problem = "one of its variables is not set";
    return "";
  });
  if (problem !== undefined) return { kind: "refused", faults: [`cannot fill in the body: ${problem}`] };
  const secrets = variablesInBody(body).map((name) => environment[name] ?? "");
  return { kind: "opened", what: { payload, secrets } };
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

import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { Answer, Fields } from "../../src/simulator/answer.ts";
import type { LimitRoom, Verdict } from "../../src/simulator/request-ledger.ts";

/** One of `fixtures/dialects.yaml`, which says what its keys mean. */
type Dialect = {
  readonly tells: string;
  readonly status: number;
  readonly headers?: string;
  readonly body: string;
};

const FILE = new URL("../fixtures/dialects.yaml", import.meta.url);
const DIALECTS: Readonly<Record<string, Dialect>> = parse(readFileSync(FILE, "utf8"), { merge: true });

export const DIALECT_NAMES: readonly string[] = Object.keys(DIALECTS);

/** As real providers tell their limits: every answer has these headers, and one that is not allowed is this refusal. */
export function speak(
  name: string,
  verdict: Verdict,
  wallMs: number,
): { readonly headers: Fields; readonly refusal: Answer } {
  const dialect = DIALECTS[name];
  if (dialect === undefined) throw new RangeError(`cannot speak "${name}": no dialect has this name`);
  const { tells, status, headers = "", body } = dialect;
  const facts = factsOf(verdict, wallMs);
  // Without limits there is nothing to tell, and nothing is refused.
  if (facts === undefined) return { headers: {}, refusal: { status, headers: {}, body: "" } };
  return {
    headers: fieldsOf(tells, facts),
    refusal: {
      status,
      headers: { "Content-Type": "application/json", ...fieldsOf(headers, facts) },
      body: filled(body, facts),
    },
  };
}

type Facts = Readonly<Record<string, string | number>>;

function fieldsOf(text: string, facts: Facts): Fields {
  const lines = filled(text, facts).split("\n");
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [name, value] = line.split(": ");
      return name === undefined || value === undefined ? [] : [[name, value] as const];
    }),
  );
}

/** A page has angle brackets of its own. */
function filled(text: string, facts: Facts): string {
  return text.replaceAll(/<(\w+)>/g, (whole, name: string) => String(facts[name] ?? whole));
}

/** They are about the scarcest limit; undefined where there is none. Most fields have whole seconds only. */
function factsOf({ rooms, remaining, resetMs }: Verdict, wallMs: number): Facts | undefined {
  const scarcest = rooms.find((room) => room.remaining === remaining);
  if (scarcest === undefined) return undefined;
  const { requests, perMs } = scarcest.limit;
  const waitMs = Math.max(1, Math.ceil(resetMs));
  const resetS = seconds(wallMs + resetMs);
  return {
    limit: requests,
    remaining,
    used: requests - remaining,
    limits: rooms.map(({ limit }) => limit.requests).join(","),
    usages: rooms.map(({ limit, remaining }) => limit.requests - remaining).join(","),
    windowS: windowSeconds(perMs),
    windowMs: perMs,
    waitS: Math.max(1, seconds(resetMs)),
    waitMs,
    waitSeconds: waitMs / 1000,
    waitInGo: goDuration(waitMs),
    resetS,
    resetMs: Math.ceil(wallMs + resetMs),
    resetSeconds: ((wallMs + resetMs) / 1000).toFixed(3),
    resetDate: new Date(resetS * 1000).toISOString().replace(".000Z", "Z"),
    policies: rooms
      .map(({ limit }) => `${nameOf(limit)};q=${limit.requests};w=${windowSeconds(limit.perMs)}`)
      .join(", "),
    rooms: rooms
      .map((room) => `${nameOf(room.limit)};r=${room.remaining};t=${seconds(room.resetMs)}`)
      .join(", "),
  };
}

function nameOf({ perMs }: LimitRoom["limit"]): string {
  return `"per-${windowSeconds(perMs)}s"`;
}

/** `1m2.5s`, `120ms`. */
function goDuration(timeMs: number): string {
  if (timeMs < 1000) return `${timeMs}ms`;
  const minutes = Math.floor(timeMs / 60_000);
  const rest = `${(timeMs - minutes * 60_000) / 1000}s`;
  return minutes === 0 ? rest : `${minutes}m${rest}`;
}

function windowSeconds(perMs: number): number {
  return Math.max(1, seconds(perMs));
}

function seconds(timeMs: number): number {
  return Math.ceil(timeMs / 1000);
}

import type { FieldPart } from "./field-name.ts";

const KEYS: ReadonlyMap<string, FieldPart> = new Map<string, FieldPart>([
  ["limit", "limit"],
  ["total", "limit"],
  ["remaining", "remaining"],
  ["used", "used"],
  ["reset", "reset"],
  ["resets", "reset"],
  ["until", "reset"],
  ["period", "window"],
  ["window", "window"],
  ["interval", "window"],
  ["name", "kind"],
]);

type Members = readonly (readonly [part: FieldPart, value: string])[];

const MOST_MEMBERS = 50;

function membersOfJson(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    return Object.entries(value).flatMap(([key, member]) => {
      const part = KEYS.get(key.toLowerCase());
      const isPlain = typeof member === "string" || typeof member === "number";
      return part === undefined || !isPlain ? [] : [[part, String(member)] as const];
    });
  } catch {
    return undefined;
  }
}

function membersOfPairs(text: string): Members | undefined {
  const members: (readonly [FieldPart, string])[] = [];
  const pairs = text.split(/[,;]/, MOST_MEMBERS);
  for (const pair of pairs) {
    const [key = "", value, ...more] = pair.split("=", 3);
    if (value === undefined || more.length > 0) return undefined;
    const part = KEYS.get(key.trim().toLowerCase());
    if (part !== undefined) members.push([part, value.trim()]);
  }
  return members;
}

/** `limit=100, remaining=50, reset=30`, `total=100; remaining=99`, or an object of JSON; undefined if it is none. */
export function dictionaryIn(text: string): Members | undefined {
  const members = text.startsWith("{") ? membersOfJson(text) : membersOfPairs(text);
  return members?.some(([part]) => part === "limit" || part === "remaining") === true ? members : undefined;
}

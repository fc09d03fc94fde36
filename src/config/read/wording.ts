/** How a config's parts are named and shown in a sentence. What could be a key is never shown. */

import { counted } from "../../kernel/exchange/json-value.ts";
import type { Path, Tree } from "./tree.ts";

const MAX_SHOWN = 60;
/** A password's hash in the wrong place is still secret. */
const BCRYPT_HASH = /\$2[abxy]?\$/;

export type NameOf = (path: Path) => string;

/** `upstreams[0].auth.bearer`. */
export function nameOfPath(path: Path): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      const name = /^[\w.-]{1,64}$/.test(step) ? step : `[${shownText(step)}]`;
      return index === 0 || name.startsWith("[") ? name : `.${name}`;
    })
    .join("");
}

export function received(tree: Tree | undefined, isSecret: boolean): string {
  switch (tree?.kind) {
    case "scalar":
      return receivedScalar(tree.value, tree.interpolated || isSecret);
    case "list":
      return tree.items.length === 0 ? "an empty list" : "a list";
    case "map":
      return "a mapping";
    case "void":
    case undefined:
      return "nothing";
    default:
      return tree satisfies never;
  }
}

function receivedScalar(value: unknown, hidden: boolean): string {
  if (value === null || value === undefined) return "nothing";
  if (typeof value === "string") {
    if (hidden && value !== value.trim()) return `${sizeOf(value)} (with white space around it)`;
    if (hidden && IN_QUOTES.test(value)) return `${sizeOf(value)} (with quotes around it)`;
    const hint = /^\$\w+$/.test(value) ? " (the value of a variable is written ${NAME})" : "";
    return (hidden ? sizeOf(value) : shownText(value)) + hint;
  }
  const isShown = !hidden && (typeof value === "number" || typeof value === "boolean");
  return isShown ? String(value) : `a ${typeof value}`;
}

/** An unknown key where secrets are could be one that was pasted in the wrong place: only its length is shown. */
export function shownKey(key: string, isSecret: boolean): string {
  const isHidden = !isShowable(key) || (isSecret && !/^[a-z_]{1,20}$/.test(key));
  return isHidden ? `of ${key.length} characters` : JSON.stringify(key);
}

/** Some files of variables keep the quotes around a value, as in docker run --env-file. */
export const IN_QUOTES: RegExp = /^(["']).*\1$/s;

function shownText(value: string): string {
  return isShowable(value) ? JSON.stringify(value) : sizeOf(value);
}

/** `: /etc/pacewatch/web.yaml`; nothing where it may be something else that was pasted in a file's place. */
export function shownFile(path: string): string {
  return path.split("/").every(isShowable) ? `: ${path}` : "";
}

/** Several lines may be a PEM key that was pasted where its file's name belongs. */
function isShowable(value: string): boolean {
  return value.length <= MAX_SHOWN && !BCRYPT_HASH.test(value) && !/[\r\n]/.test(value);
}

function sizeOf(value: string): string {
  return value === "" ? "an empty string" : `a string of ${counted(value.length, "character")}`;
}

/** Other programs call them so. What is meant depends on the section: the first that is allowed there. */
const MEANT: ReadonlyMap<string, readonly string[]> = new Map(
  `
  interval every per; period every per; frequency every; scrape_interval every; window per; count requests;
  max_requests requests; rps rate; schedule cron; timezone time_zone; tz time_zone; url base_url; uri base_url;
  endpoint base_url; host base_url; target base_url; scheme base_url; metrics_path path; api_key auth header;
  token auth bearer; bearer_token auth; key auth header; password auth basic; basic_auth auth; type kind; tags labels;
  group labels; status_code status; conditions expect; contains body; limit rate requests; rate_limit budget rate;
  slo objective; retries confirm; failure_threshold confirm; verb method; matrix each; for_each each; alerts notify; alerting notify;
  receivers notify; targets upstreams; endpoints upstreams; services upstreams; scrape_configs upstreams; jobs
  upstreams; global defaults; port listen`
    .split(";")
    .map((line) => line.trim().split(/\s+/))
    .map(([word = "", ...meant]) => [word, meant]),
);

export function didYouMean(word: string, candidates: readonly string[]): string {
  const found = probablyMeant(word, candidates);
  return found === undefined ? "" : `did you mean "${found}"? `;
}

export function probablyMeant(word: string, candidates: readonly string[]): string | undefined {
  const said = word.toLowerCase();
  return meantBy(said, candidates) ?? nearest(said, candidates) ?? nearestOfOthers(said, candidates);
}

function meantBy(word: string, candidates: readonly string[]): string | undefined {
  return MEANT.get(word)?.find((each) => candidates.includes(each));
}

/** A misspelt name that other programs use. */
function nearestOfOthers(word: string, candidates: readonly string[]): string | undefined {
  const others = [...MEANT.keys()].filter((each) => meantBy(each, candidates) !== undefined);
  const other = nearest(word, others);
  return other === undefined ? undefined : meantBy(other, candidates);
}

/** The candidate that was probably meant: at most two letters away and not all, or one is the beginning of the other. */
function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > 64) return undefined;
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: distanceOf(word, candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= Math.min(2, Math.ceil(word.length / 3), word.length - 1))
    .sort((a, b) => a.distance - b.distance);
  if (ranked[0] !== undefined || word.length < 3) return ranked[0]?.candidate;
  return candidates.find((candidate) => candidate.startsWith(word) || word.startsWith(candidate));
}

/** Letters to insert, remove or replace. */
function distanceOf(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 1; line <= from.length; line += 1) {
    const next = [line];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (from[line - 1] === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

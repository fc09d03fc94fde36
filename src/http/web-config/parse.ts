import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument, visit } from "yaml";
import type { z } from "zod";
import { escapeText } from "../../core/text/escape.ts";
import { ALLOWED_KEYS, checkWebConfig, type RawWebConfig, SECRET_SECTION } from "./schema.ts";

export type ParsedWebConfig =
  | { readonly kind: "parsed"; readonly raw: RawWebConfig }
  | { readonly kind: "refused"; readonly faults: readonly string[] };

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** All faults at once, each as `file:line:column: sentence`. */
export function parseWebConfig(text: string, file: string): ParsedWebConfig {
  const lines = new LineCounter();
  // Pretty errors and warnings would quote what is wrong, and it may hold a hash.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: "error" });
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const broken = [...document.errors, ...document.warnings];
  if (broken.length > 0)
    return {
      kind: "refused",
      faults: broken.map(({ pos, message }) => `${at(pos[0])}: cannot read YAML: ${printable(message)}`),
    };

  const strange = strangeKey(document);
  if (strange !== undefined)
    return { kind: "refused", faults: [`${at(strange)}: cannot read YAML: a key must be plain text`] };
  const value = valueOf(document);
  if (value instanceof Error)
    return { kind: "refused", faults: [`${at(0)}: cannot read YAML: ${printable(value.message)}`] };
  const result = checkWebConfig(value ?? {});
  if (result.success) return { kind: "parsed", raw: result.data };
  const faults = result.error.issues.flatMap((issue) => faultsOf(issue, document, value));
  return {
    kind: "refused",
    faults: faults.map(({ offset, sentence }) => `${at(offset)}: ${printable(sentence)}`),
  };
}

/** A password's hash in a wrong place is still one. */
const BCRYPT_HASH = /\$2[abxy]?\$[^\s"]*/g;

/** One line: the file may hold any characters, and a fault repeats some of them. */
function printable(text: string): string {
  return escapeText(text.replace(BCRYPT_HASH, "<secret>"));
}

/** A key that is a map or a list, the library writes out as text, and each key within once more: for minutes. */
function strangeKey(document: Document): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Pair: (_, { key }) => {
      if (isScalar(key)) return undefined;
      offset = isNode(key) ? (key.range?.[0] ?? 0) : 0;
      return visit.BREAK;
    },
  });
  return offset;
}

function valueOf(document: Document): unknown {
  try {
    return document.toJS();
  } catch (error) {
    // Aliases that would grow without bound.
    return error instanceof Error ? error : new Error("not readable");
  }
}

type Fault = { readonly offset: number; readonly sentence: string };

function faultsOf(issue: Issue, document: Document, value: unknown): readonly Fault[] {
  const name = issue.path.join(".");
  if (issue.code === "unrecognized_keys") {
    const allowed = (ALLOWED_KEYS.get(name) ?? []).join(", ");
    return issue.keys.map((key) => ({
      offset: keyOffset(document, [...issue.path, key]),
      sentence: `cannot use "${[...issue.path, key].join(".")}": allowed here are ${allowed}`,
    }));
  }
  if (issue.code === "invalid_key")
    return [
      {
        offset: keyOffset(document, issue.path),
        sentence: `cannot use "${name}": a user's name must have no colon, and not be empty`,
      },
    ];
  const subject = name === "" ? "the file" : `"${name}"`;
  const sentence = `cannot use ${subject}: it must be ${issue.message}${received(issue.path, value)}`;
  return [{ offset: nodeOffset(document, issue.path), sentence }];
}

function received(path: Path, value: unknown): string {
  if (path[0] === SECRET_SECTION) return "";
  const found = path.reduce<unknown>((inner, key) => fieldOf(inner, key), value);
  if (found === undefined) return ", and is missing";
  // Several lines may be a key that was put where its file's name belongs.
  if (typeof found === "string" && /[\r\n]/.test(found)) return ", received several lines";
  return `, received ${JSON.stringify(found).slice(0, 80)}`;
}

function fieldOf(value: unknown, key: PropertyKey): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

/** Where the value begins; where it is missing, what should have held it. */
function nodeOffset(document: Document, path: Path): number {
  const node = path.length === 0 ? document.contents : document.getIn(path, true);
  if (isNode(node)) return node.range?.[0] ?? 0;
  return path.length === 0 ? 0 : nodeOffset(document, path.slice(0, -1));
}

function keyOffset(document: Document, path: Path): number {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const keys = isMap(parent) ? parent.items.map(({ key }) => key) : [];
  const key = keys.find((candidate) => isScalar(candidate) && String(candidate.value) === path.at(-1));
  return (isScalar(key) ? key.range?.[0] : undefined) ?? nodeOffset(document, path.slice(0, -1));
}

import {
  type Document,
  LineCounter,
  type YAMLParseError,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  type Node,
  visit,
} from "yaml";
import type { Fault } from "./fault.ts";
import { type Environment, interpolate } from "./interpolate.ts";
import { type Path, type Tree, entriesOf } from "./tree.ts";
import { shownKey } from "./wording.ts";
import { isUtf8 } from "node:buffer";

export type Variables = {
  readonly environment: Environment;
  /** Whether every variable must be set, or only the needed ones. */
  readonly mustBeSet: boolean;
  /** An example stands in the place of a value whose variable is not set; one without is left out. */
  readonly notesAt: (path: Path) => { readonly isNeeded?: true; readonly example?: string };
};

export type PlaceOf = (offset: number) => { readonly line: number; readonly column: number };

export type YamlReading = {
  readonly file: string;
  /** Undefined where nothing of it can be understood. */
  readonly tree: Tree | undefined;
  /** In the file itself. */
  readonly faults: readonly Fault[];
  /** Variables that must be set, and are not: these faults lie in the environment. */
  readonly unset: readonly Fault[];
  /** Values that were left out, as their variables are not set. No faults, unless it cannot be understood without them. */
  readonly omitted: readonly Fault[];
  readonly placeOf: PlaceOf;
};

/** Without `variables`, "${" means nothing. */
export function readYaml(bytes: Uint8Array, file: string, variables?: Variables): YamlReading {
  const lines = new LineCounter();
  const placeOf = (offset: number): { line: number; column: number } => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const faultAt = (offset: number, message: string): Fault => ({ file, ...placeOf(offset), message });
  const nothing = (fault: Fault): YamlReading => {
    return { file, tree: undefined, faults: [fault], unset: [], omitted: [], placeOf };
  };
  const text = decodeText(bytes, file);
  if (typeof text !== "string") return nothing(text);
  const document = documentOf(text, lines);
  const syntax = syntaxFault(text, document, variables !== undefined);
  if (syntax !== undefined) return nothing(faultAt(syntax.offset, `cannot read YAML: ${syntax.message}`));
  const walk = new Walk(faultAt, variables);
  const root = document?.contents;
  const tree = walk.read(root, root?.range?.[0] ?? 0, []);
  const { faults, unset, omitted } = walk;
  return { file, tree: tree?.kind === "void" ? undefined : tree, faults, unset, omitted, placeOf };
}

/** A text may be nested so deeply that the library runs out of its stack, as its own bound does not see all ways to nest: it is no document. */
function documentOf(text: string, lineCounter: LineCounter): Document | undefined {
  try {
    return parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      // The library compares every key with every other; ours keep a set.
      uniqueKeys: false,
      resolveKnownTags: false,
      merge: false,
      logLevel: "error",
    });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Only the first: the others usually follow from it. */
function syntaxFault(
  text: string,
  document: Document | undefined,
  hasVariables: boolean,
): { readonly offset: number; readonly message: string } | undefined {
  if (document === undefined) return { offset: 0, message: NESTED_TOO_DEEPLY };
  if (document.directives?.yaml.explicit === true) {
    return { offset: 0, message: "directives (%) are not used here" };
  }
  const [first] = document.errors.toSorted((a, b) => a.pos[0] - b.pos[0]);
  if (first === undefined) return undefined;
  const offset = first.pos[0];
  if (hasVariables && text.slice(offset - 1, offset + 2).includes("${")) {
    return { offset, message: 'a variable inside { } or [ ] must be quoted, as in { key: "${NAME}" }' };
  }
  const lineFrom = text.lastIndexOf("\n", offset - 1) + 1;
  const before = OTHER_SPACE.exec(text.slice(lineFrom))?.[0];
  if (before !== undefined)
    return { offset: lineFrom + before.length, message: "this is not an ordinary space: type it again" };
  const opening = first.code === "MISSING_CHAR" ? openQuoteBefore(offset, text, document) : undefined;
  if (opening !== undefined) return { offset: opening, message: "this quote is not closed" };
  // The parser tells of the second one: the first began an alias.
  const code = text[offset] === "*" && first.code === "UNEXPECTED_TOKEN" ? "BAD_ALIAS" : first.code;
  return { offset, message: SYNTAX_SENTENCES[code] ?? "this is not valid here" };
}

/** The parser tells where the text ends that lacks its closing quote, often at the end of the file: this is where it begins. */
function openQuoteBefore(end: number, text: string, document: Document): number | undefined {
  let opening: number | undefined;
  visit(document, {
    Scalar: (_, { range, type }) => {
      const [start, last] = range ?? [end, end];
      const isClosed = last - 1 > start && text[last - 1] === text[start];
      if (last === end && type?.startsWith("QUOTE") && !isClosed) opening = start;
    },
  });
  return opening;
}

/** Finds what is before it in a line, without quotes and comments. YAML takes those of a copied text for letters. */
const OTHER_SPACE = /^[^"'#\n]*?(?=[\u00a0\u2000-\u200b\u202f\u3000\ufeff])/;
const NESTED_TOO_DEEPLY = "the file is nested too deeply";
const NO_TAGS = "tags (!) are not used here";

/**
 * Our own sentences for a syntax error. The parser's quote what they found, which could be a key that was
 * pasted where it does not belong.
 */
const SYNTAX_SENTENCES: Partial<Record<YAMLParseError["code"], string>> = {
  BAD_ALIAS: 'a value that begins with * or & must be quoted, as in cron: "*/15 * * * *"',
  ALIAS_PROPS: "an alias can have neither an anchor nor a tag",
  BAD_DIRECTIVE: "a directive is not valid",
  BAD_DQ_ESCAPE: "a backslash in double quotes must begin a known escape: use single quotes to keep it",
  BAD_INDENT: "the indentation is wrong, or a bracket or quote before here is not closed",
  BAD_SCALAR_START: "a value that starts with a reserved character must be quoted",
  BLOCK_AS_IMPLICIT_KEY:
    'a value must not contain another ": " unless it is quoted: is the next line indented too far?',
  BLOCK_IN_FLOW: "a comma is missing between entries, or a block is inside [ ] or { }",
  KEY_OVER_1024_CHARS: "a key must have at most 1024 characters",
  MISSING_CHAR:
    "a closing bracket, a comma, or a colon and a space is missing, or this line is not indented like the one above",
  MULTILINE_IMPLICIT_KEY: "a key must be on one line, with a colon and a space after it",
  MULTIPLE_DOCS: "a file must be one document, received several",
  RESOURCE_EXHAUSTION: NESTED_TOO_DEEPLY,
  TAB_AS_INDENT: "tabs must not be used to indent: use spaces",
  TAG_RESOLVE_FAILED: NO_TAGS,
  UNEXPECTED_TOKEN: "this belongs to no value: quote the whole value, or remove it",
};

const MAX_DEPTH = 32;
const MAX_VALUES = 100_000;

type Place = Pick<Tree, "offset" | "keyOffset">;

/** One pass over the parsed nodes: refuses what a config does not need, resolves aliases and variables. */
class Walk {
  readonly faults: Fault[] = [];
  readonly unset: Fault[] = [];
  readonly omitted: Fault[] = [];
  readonly #faultAt: (offset: number, message: string) => Fault;
  readonly #variables: Variables | undefined;
  readonly #anchors = new Map<string, Node>();
  /** The nodes that are being read, from the outermost in. */
  readonly #open = new Set<Node>();
  #aliasDepth = 0;
  #values = 0;

  constructor(faultAt: (offset: number, message: string) => Fault, variables: Variables | undefined) {
    this.#faultAt = faultAt;
    this.#variables = variables;
  }

  /** Undefined for a value that is left out. */
  read(node: unknown, keyOffset: number, path: Path): Tree | undefined {
    this.#values += 1;
    const at = { offset: offsetOf(node) ?? keyOffset, keyOffset };
    if (this.#values > MAX_VALUES + 1) return voidAt(at.offset);
    if (this.#values > MAX_VALUES) return this.#refuse(at.offset, TOO_LARGE);
    if (path.length > MAX_DEPTH) return this.#refuse(at.offset, NESTED_TOO_DEEPLY);
    if (isAlias(node)) return this.#readAlias(node.source, at, path);
    if (!isMap(node) && !isSeq(node) && !isScalar(node)) {
      return { kind: "scalar", value: null, interpolated: false, ...at };
    }
    if (node.tag !== undefined) return this.#refuse(at.offset, NO_TAGS);
    if (node.anchor !== undefined && this.#aliasDepth === 0) this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return this.#readScalar(node.value, at, path);
    this.#open.add(node);
    const tree = isMap(node) ? this.#readMap(node.items, at, path) : this.#readList(node.items, at, path);
    this.#open.delete(node);
    return tree;
  }

  #refuse(offset: number, message: string): Tree {
    this.faults.push(this.#faultAt(offset, message));
    return voidAt(offset);
  }

  #readAlias(name: string, { offset, keyOffset }: Place, path: Path): Tree | undefined {
    const target = this.#anchors.get(name);
    if (target === undefined) return this.#refuse(offset, "an alias (*) must name an anchor (&) before it");
    if (this.#open.has(target)) return this.#refuse(offset, "an alias (*) must not be inside its own anchor");
    this.#aliasDepth += 1;
    const tree = this.read(target, keyOffset, path);
    this.#aliasDepth -= 1;
    return tree;
  }

  #readScalar(value: unknown, at: Place, path: Path): Tree | undefined {
    const plain = { kind: "scalar", value, interpolated: false, ...at } as const;
    const variables = this.#variables;
    if (variables === undefined || typeof value !== "string" || !value.includes("${")) return plain;
    const result = interpolate(value, variables.environment);
    if (result.kind === "text")
      return { ...plain, value: result.text, interpolated: result.values.length > 0, written: value };
    if (result.kind === "malformed") return this.#refuse(at.offset, MALFORMED_VARIABLE);
    const { isNeeded, example } = variables.notesAt(path);
    const mustBeSet = variables.mustBeSet || isNeeded === true;
    const fault = this.#faultAt(at.offset, unsetSentence(result.variables));
    if (mustBeSet) this.unset.push(fault);
    // With an example in its place, the rest of its upstream can be checked too.
    if (!isNeeded && example !== undefined)
      return { ...plain, value: example, interpolated: true, standsFor: value };
    if (mustBeSet) return voidAt(at.offset);
    this.omitted.push(fault);
    return undefined;
  }

  /** A list of which every item is left out is left out too. */
  #readList(nodes: readonly unknown[], at: Place, path: Path): Tree | undefined {
    const items = nodes.flatMap(
      (node, index) => this.read(node, offsetOf(node) ?? at.offset, [...path, index]) ?? [],
    );
    return items.length === 0 && nodes.length > 0 ? undefined : { kind: "list", items, ...at };
  }

  #readMap(pairs: readonly Readonly<Record<"key" | "value", unknown>>[], at: Place, path: Path): Tree {
    const entries = new Map<string, Tree>();
    const seen = new Map<string, number>();
    const merged: Tree[] = [];
    for (const { key, value } of pairs) {
      const keyAt = offsetOf(key) ?? at.offset;
      const name = isScalar(key) && key.tag === undefined ? String(key.value) : undefined;
      if (name === undefined) this.#refuse(keyAt, "a key must be a plain name");
      else if (name === "__proto__") this.#refuse(keyAt, 'a key must not be "__proto__"');
      else if (seen.has(name)) {
        const { line } = this.#faultAt(seen.get(name) ?? keyAt, "");
        this.#refuse(keyAt, `duplicate key ${shownKey(name, true)}: it is in line ${line} already`);
      } else {
        seen.set(name, keyAt);
        if (name === "<<") {
          merged.push(...this.#readMerge(value, keyAt, path));
          continue;
        }
        const child = this.read(value, keyAt, [...path, name]);
        if (child !== undefined) entries.set(name, child);
      }
    }
    if (merged.some(({ kind }) => kind === "void")) return { kind: "void", ...at };
    // The mapping's own keys win, then the merged ones in their order; each value keeps its own place.
    for (const [name, child] of merged.flatMap((tree) => entriesOf(tree))) {
      if (!seen.has(name)) entries.set(name, child);
      seen.set(name, at.offset);
    }
    return { kind: "map", entries, ...at };
  }

  /** A merged mapping is read at the path of the one that it is merged into, so its variables are needed there or not. */
  #readMerge(value: unknown, keyAt: number, path: Path): readonly Tree[] {
    return (isSeq(value) ? value.items : [value]).flatMap((node) => {
      const offset = offsetOf(node) ?? keyAt;
      const tree = this.read(node, offset, path);
      if (tree === undefined || tree.kind === "map" || tree.kind === "void") return tree ?? [];
      return this.#refuse(offset, NO_MAPPING_TO_MERGE);
    });
  }
}

const MALFORMED_VARIABLE =
  'a "${" must be ${NAME} or ${NAME:-default} without another one in its default, or $${ for itself';
const TOO_LARGE = `the file must have at most ${MAX_VALUES} values, aliases (*) counted in full`;
const NO_MAPPING_TO_MERGE = "a merge key (<<) must have a mapping, such as *ALIAS, or a list of them";

function voidAt(offset: number): Tree {
  return { kind: "void", offset, keyOffset: offset };
}

function unsetSentence(variables: readonly string[]): string {
  const names = variables.join(" and ");
  return variables.length === 1 ? `the variable ${names} is not set` : `the variables ${names} are not set`;
}

function offsetOf(node: unknown): number | undefined {
  if (isAlias(node) || isMap(node) || isSeq(node) || isScalar(node)) return node.range?.[0];
  return undefined;
}

/** Refuses what no text editor writes. */
function decodeText(bytes: Uint8Array, file: string): string | Fault {
  const binaryAt = bytes.findIndex((byte) => isControl(byte));
  if (binaryAt >= 0) {
    const message = "the file must be UTF-8, received a control character (binary data, or UTF-16?)";
    return { file, ...placeOf(bytes, binaryAt), message };
  }
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  // What cannot be decoded is something else when it is encoded again.
  const lenient = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const again = new TextEncoder().encode(lenient);
  const brokenAt = bytes.findIndex((byte, index) => byte !== again[index]);
  const { line } = placeOf(bytes, brokenAt < 0 ? bytes.length : brokenAt);
  const message = "the file must be UTF-8, received a line that is not";
  return { file, line, column: 1, message };
}

/** All of ASCII's control characters but tab, line feed and carriage return. */
function isControl(byte: number): boolean {
  return (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) || byte === 0x7f;
}

function placeOf(bytes: Uint8Array, at: number): { readonly line: number; readonly column: number } {
  const lines = Buffer.from(bytes.subarray(0, at)).toString("latin1").split("\n");
  return { line: lines.length, column: (lines.at(-1) ?? "").length + 1 };
}

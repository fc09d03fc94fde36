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
} from "yaml";
import type { Fault } from "./fault.ts";
import { type Environment, interpolate } from "./interpolate.ts";
import { decodeText } from "./text.ts";
import { type Path, type Tree, entriesOf } from "./tree.ts";
import { shownKey } from "./wording.ts";

export type Variables = {
  readonly environment: Environment;
  /** Whether every variable must be set, or only the needed ones. */
  readonly mustBeSet: boolean;
  readonly whenUnset: (path: Path) => WhenUnset;
};

/** A value whose variable is not set is a fault, is left out, or has this in its place. */
export type WhenUnset = "needed" | "omitted" | { readonly placeholder: string };

export type PlaceOf = (offset: number) => { readonly line: number; readonly column: number };

export type YamlReading = {
  readonly file: string;
  /** Undefined where nothing of it can be understood. */
  readonly tree: Tree | undefined;
  readonly faults: readonly Fault[];
  /** Those of the faults that are about variables: they lie in the environment. */
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
  const nothing = (fault: Fault): YamlReading => {
    return { file, tree: undefined, faults: [fault], unset: [], omitted: [], placeOf };
  };
  const decoded = decodeText(bytes, file);
  if (decoded.kind === "refused") return nothing(decoded.fault);
  const { text } = decoded;
  const document = documentOf(text, lines);
  const syntax = syntaxFault(text, document, variables !== undefined);
  if (syntax !== undefined)
    return nothing({ file, ...placeOf(syntax.offset), message: `cannot read YAML: ${syntax.message}` });
  const walk = new Walk(file, placeOf, variables);
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
  return { offset, message: SYNTAX_SENTENCES[first.code] ?? "this is not valid here" };
}

const NESTED_TOO_DEEPLY = "the file is nested too deeply";

/**
 * Our own sentences for a syntax error. The parser's quote what they found, which could be a key that was
 * pasted where it does not belong.
 */
const SYNTAX_SENTENCES: Partial<Record<YAMLParseError["code"], string>> = {
  BAD_ALIAS: "the name of an anchor or alias is not valid",
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
    "a closing quote, bracket, comma or colon is missing, or this line is not indented like the one above",
  MULTILINE_IMPLICIT_KEY: "a key must be on one line and end with a colon",
  MULTIPLE_DOCS: "a file must be one document, received several",
  RESOURCE_EXHAUSTION: NESTED_TOO_DEEPLY,
  TAB_AS_INDENT: "tabs must not be used to indent: use spaces",
  TAG_RESOLVE_FAILED: "tags (!) are not used here",
};

const MAX_DEPTH = 32;
const MAX_VALUES = 100_000;

/** One pass over the parsed nodes: refuses what a config does not need, resolves aliases and variables. */
class Walk {
  readonly faults: Fault[] = [];
  readonly unset: Fault[] = [];
  readonly omitted: Fault[] = [];
  readonly #file: string;
  readonly #placeOf: PlaceOf;
  readonly #variables: Variables | undefined;
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  #aliasDepth = 0;
  #values = 0;

  constructor(file: string, placeOf: PlaceOf, variables: Variables | undefined) {
    this.#file = file;
    this.#placeOf = placeOf;
    this.#variables = variables;
  }

  refuse(offset: number, message: string): Tree {
    this.faults.push(this.#fault(offset, message));
    return { kind: "void", offset, keyOffset: offset };
  }

  #fault(offset: number, message: string): Fault {
    return { file: this.#file, ...this.#placeOf(offset), message };
  }

  /** Undefined for a value that is left out. */
  read(node: unknown, keyOffset: number, path: Path): Tree | undefined {
    this.#values += 1;
    const offset = offsetOf(node) ?? keyOffset;
    if (this.#values > MAX_VALUES) return this.#tooLarge(offset);
    if (path.length > MAX_DEPTH) return this.refuse(offset, NESTED_TOO_DEEPLY);
    if (isAlias(node)) return this.#readAlias(node.source, offset, keyOffset, path);
    if (!isMap(node) && !isSeq(node) && !isScalar(node)) {
      return { kind: "scalar", value: null, interpolated: false, offset, keyOffset };
    }
    if (node.tag !== undefined) return this.refuse(offset, "tags (!) are not used here");
    if (node.anchor !== undefined && this.#aliasDepth === 0) this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return this.#readScalar(node.value, offset, keyOffset, path);
    this.#open.add(node);
    const tree = isMap(node) ? this.#readMap(node.items, offset, keyOffset, path) : undefined;
    const list = isSeq(node) ? this.#readList(node.items, offset, keyOffset, path) : undefined;
    this.#open.delete(node);
    return tree ?? list;
  }

  #readAlias(name: string, offset: number, keyOffset: number, path: Path): Tree | undefined {
    const target = this.#anchors.get(name);
    if (target === undefined) return this.refuse(offset, "an alias (*) must name an anchor (&) before it");
    if (this.#open.has(target)) return this.refuse(offset, "an alias (*) must not be inside its own anchor");
    this.#aliasDepth += 1;
    const tree = this.read(target, keyOffset, path);
    this.#aliasDepth -= 1;
    return tree;
  }

  #readScalar(value: unknown, offset: number, keyOffset: number, path: Path): Tree | undefined {
    const plain = { kind: "scalar", value, interpolated: false, offset, keyOffset } as const;
    const variables = this.#variables;
    if (variables === undefined || typeof value !== "string" || !value.includes("${")) return plain;
    const result = interpolate(value, variables.environment);
    switch (result.kind) {
      case "text":
        return { ...plain, value: result.text, interpolated: result.changed, written: value };
      case "malformed":
        return this.refuse(offset, 'a "${" must be ${NAME} or ${NAME:-default}, or $${ for itself');
      case "unset": {
        const unset = variables.whenUnset(path);
        const isFault = variables.mustBeSet || unset === "needed";
        if (!isFault && unset === "omitted") {
          this.omitted.push(this.#fault(offset, unsetSentence(result.variables)));
          return undefined;
        }
        const refused = isFault ? this.refuse(offset, unsetSentence(result.variables)) : undefined;
        if (isFault) this.unset.push(...this.faults.slice(-1));
        // With a placeholder, the rest of its upstream can be checked too.
        if (typeof unset === "object")
          return { ...plain, value: unset.placeholder, interpolated: true, isExample: true };
        return refused;
      }
      default:
        return result satisfies never;
    }
  }

  /** A list of which every item is left out is left out too. */
  #readList(nodes: readonly unknown[], offset: number, keyOffset: number, path: Path): Tree | undefined {
    const items: Tree[] = [];
    for (const [index, node] of nodes.entries()) {
      const item = this.read(node, offsetOf(node) ?? offset, [...path, index]);
      if (item !== undefined) items.push(item);
    }
    if (items.length === 0 && nodes.length > 0) return undefined;
    return { kind: "list", items, offset, keyOffset };
  }

  #readMap(
    pairs: readonly { readonly key: unknown; readonly value: unknown }[],
    offset: number,
    keyOffset: number,
    path: Path,
  ): Tree {
    const entries = new Map<string, Tree>();
    const seen = new Set<string>();
    const merged: Tree[] = [];
    for (const { key, value } of pairs) {
      const at = offsetOf(key) ?? offset;
      const name = isScalar(key) && key.tag === undefined ? String(key.value) : undefined;
      if (name === undefined) this.refuse(at, "a key must be a plain name");
      else if (name === "__proto__") this.refuse(at, 'a key must not be "__proto__"');
      else if (seen.has(name)) this.refuse(at, `duplicate key ${shownKey(name, true)}`);
      else {
        seen.add(name);
        if (name === "<<") {
          merged.push(...this.#readMerge(value, at, path));
          continue;
        }
        const child = this.read(value, at, [...path, name]);
        if (child !== undefined) entries.set(name, child);
      }
    }
    if (merged.some(({ kind }) => kind === "void")) return { kind: "void", offset, keyOffset };
    // The mapping's own keys win, then the merged ones in their order; each value keeps its own place.
    for (const [name, child] of merged.flatMap((tree) => entriesOf(tree))) {
      if (!seen.has(name)) entries.set(name, child);
      seen.add(name);
    }
    return { kind: "map", entries, offset, keyOffset };
  }

  /** A merged mapping is read at the path of the one that it is merged into, so its variables are needed there or not. */
  #readMerge(value: unknown, at: number, path: Path): readonly Tree[] {
    return (isSeq(value) ? value.items : [value]).flatMap((node) => {
      const tree = this.read(node, offsetOf(node) ?? at, path);
      if (tree === undefined || tree.kind === "map" || tree.kind === "void") return tree ?? [];
      return this.refuse(
        offsetOf(node) ?? at,
        "a merge key (<<) must have a mapping, such as *ALIAS, or a list of them",
      );
    });
  }

  #tooLarge(offset: number): Tree {
    if (this.#values > MAX_VALUES + 1) return { kind: "void", offset, keyOffset: offset };
    return this.refuse(
      offset,
      `the file must have at most ${MAX_VALUES} values, aliases (*) counted in full`,
    );
  }
}

function unsetSentence(variables: readonly string[]): string {
  const names = variables.join(" and ");
  return variables.length === 1 ? `the variable ${names} is not set` : `the variables ${names} are not set`;
}

function offsetOf(node: unknown): number | undefined {
  if (isAlias(node) || isMap(node) || isSeq(node) || isScalar(node)) return node.range?.[0];
  return undefined;
}

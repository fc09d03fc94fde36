import { type Document, LineCounter, type Node, isScalar, parseDocument } from "yaml";
import type { Fault } from "./fault.ts";
import type { Tree } from "./tree.ts";
import { syntaxSentence } from "./yaml-faults.ts";
import { type PlaceOf, Walk, type YamlOptions } from "./yaml-walk.ts";

export type YamlReading = {
  /** Undefined where nothing of it can be understood. */
  readonly tree: Tree | undefined;
  readonly faults: readonly Fault[];
  readonly placeOf: PlaceOf;
};

export function readYaml(text: string, options: YamlOptions): YamlReading {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    // The library compares every key with every other; ours keep a set.
    uniqueKeys: false,
    resolveKnownTags: false,
    merge: false,
    logLevel: "error",
  });
  const placeOf = (offset: number): { line: number; column: number } => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const walk = new Walk(options, placeOf);
  const syntax = syntaxFault(text, document);
  if (syntax !== undefined) {
    walk.refuse(syntax.offset, syntax.message);
    return { tree: undefined, faults: walk.faults, placeOf };
  }
  const root: Node | null = document.contents;
  if (root === null || (isScalar(root) && root.value === null)) {
    walk.refuse(0, "the config is empty: it needs at least budgets and upstreams");
    return { tree: undefined, faults: walk.faults, placeOf };
  }
  const tree = walk.read(root, root.range?.[0] ?? 0, []);
  return { tree: tree?.kind === "void" ? undefined : tree, faults: walk.faults, placeOf };
}

/** The first alone: those that follow from it help nobody. */
function syntaxFault(text: string, document: Document): SyntaxFault | undefined {
  if (document.directives?.yaml.explicit === true) {
    return { offset: 0, message: "cannot read YAML: directives (%) are not used here" };
  }
  const [first] = document.errors.toSorted((a, b) => a.pos[0] - b.pos[0]);
  if (first === undefined) return undefined;
  const offset = first.pos[0];
  return { offset, message: syntaxSentence(first.code, text.slice(offset - 1, offset + 2).includes("${")) };
}

type SyntaxFault = { readonly offset: number; readonly message: string };

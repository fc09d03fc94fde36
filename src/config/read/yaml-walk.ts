import { type Node, isAlias, isMap, isScalar, isSeq } from "yaml";
import type { Fault } from "./fault.ts";
import { type Environment, interpolate } from "./interpolate.ts";
import { unsetInStructure } from "./names-only.ts";
import type { Path, Tree } from "./tree.ts";

export type YamlOptions = {
  readonly file: string;
  readonly environment: Environment;
  /** Whether every variable must be set, or only those that names and schedules are made of. */
  readonly needsVariables: boolean;
};

export type PlaceOf = (offset: number) => { readonly line: number; readonly column: number };

const MAX_DEPTH = 32;
const MAX_VALUES = 100_000;

/** One pass over the parsed nodes: refuses what a config does not need, resolves aliases and variables. */
export class Walk {
  readonly faults: Fault[] = [];
  readonly #options: YamlOptions;
  readonly #placeOf: PlaceOf;
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  #aliasDepth = 0;
  #values = 0;

  constructor(options: YamlOptions, placeOf: PlaceOf) {
    this.#options = options;
    this.#placeOf = placeOf;
  }

  refuse(offset: number, message: string): Tree {
    this.faults.push({ file: this.#options.file, ...this.#placeOf(offset), message });
    return { kind: "void", offset, keyOffset: offset };
  }

  /** Undefined for a value that is left out. */
  read(node: unknown, keyOffset: number, path: Path): Tree | undefined {
    this.#values += 1;
    const offset = offsetOf(node) ?? keyOffset;
    if (this.#values > MAX_VALUES) return this.#tooLarge(offset);
    if (path.length > MAX_DEPTH) return this.refuse(offset, "the config is nested too deeply");
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
    if (this.#open.has(target))
      return this.refuse(offset, "an alias (*) must not stand inside its own anchor");
    this.#aliasDepth += 1;
    const tree = this.read(target, keyOffset, path);
    this.#aliasDepth -= 1;
    return tree;
  }

  #readScalar(value: unknown, offset: number, keyOffset: number, path: Path): Tree | undefined {
    const plain = { kind: "scalar", value, interpolated: false, offset, keyOffset } as const;
    if (typeof value !== "string" || !value.includes("${")) return plain;
    const result = interpolate(value, this.#options.environment);
    switch (result.kind) {
      case "text":
        return { ...plain, value: result.text, interpolated: result.changed };
      case "malformed":
        return this.refuse(offset, 'a "${" must be ${NAME} or ${NAME:-default}, or $${ for itself');
      case "unset": {
        const unset = unsetInStructure(path);
        const isFault = this.#options.needsVariables || unset === "needed";
        if (!isFault && unset === "omitted") return undefined;
        const refused = isFault ? this.refuse(offset, unsetSentence(result.variables)) : undefined;
        // With something in its place, the rest of its upstream can be looked at too.
        if (typeof unset === "object") return { ...plain, value: unset.placeholder, interpolated: true };
        return refused;
      }
      default:
        return result satisfies never;
    }
  }

  #readList(nodes: readonly unknown[], offset: number, keyOffset: number, path: Path): Tree {
    const items: Tree[] = [];
    for (const [index, node] of nodes.entries()) {
      const at = offsetOf(node) ?? offset;
      const item = this.read(node, at, [...path, index]);
      // A place in a list cannot be left out: those after it would move.
      items.push(item ?? { kind: "void", offset: at, keyOffset: at });
    }
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
    for (const { key, value } of pairs) {
      const at = offsetOf(key) ?? offset;
      const name = isScalar(key) && key.tag === undefined ? String(key.value) : undefined;
      if (name === undefined) this.refuse(at, "a key must be a plain name");
      else if (name === "<<")
        this.refuse(at, "merge keys (<<) are not used here: repeat the keys, or alias (*) a whole value");
      else if (name === "__proto__") this.refuse(at, 'a key must not be "__proto__"');
      else if (seen.has(name)) this.refuse(at, "this key stands here twice");
      else {
        seen.add(name);
        const child = this.read(value, at, [...path, name]);
        if (child !== undefined) entries.set(name, child);
      }
    }
    return { kind: "map", entries, offset, keyOffset };
  }

  #tooLarge(offset: number): Tree {
    if (this.#values > MAX_VALUES + 1) return { kind: "void", offset, keyOffset: offset };
    return this.refuse(
      offset,
      `the config must have at most ${MAX_VALUES} values, aliases (*) counted in full`,
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

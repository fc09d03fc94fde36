/** From a JSON Schema as it is written to a contract. What is not known is refused, never left out. */

import { type JsonType, JSON_TYPES, isList, isObject } from "../exchange/json-value.ts";
import { pointerTo } from "../exchange/json-pointer.ts";
import { type Contract, type Rule, schemasOfSameValue } from "./contract.ts";

type Path = readonly (string | number)[];

export type ContractFault = {
  readonly path: Path;
  /** Whether its key is wrong, not its value. */
  readonly atKey: boolean;
  /** Continues a sentence that begins with the name of the place. */
  readonly message: string;
};

export type ContractReading =
  /** `formats`: where `format` is, which the draft has as a remark, not as a rule. */
  | { readonly kind: "contract"; readonly contract: Contract; readonly formats: readonly Path[] }
  | { readonly kind: "refused"; readonly faults: readonly ContractFault[] };

export function readContract(document: unknown): ContractReading {
  const reader = new Reader();
  reader.schema(document, []);
  reader.resolve();
  if (reader.faults.length === 0) reader.refuseLoops();
  if (reader.faults.length > 0) return { kind: "refused", faults: reader.faults };
  return { kind: "contract", contract: reader.schemas, formats: reader.formats };
}

type Written = Readonly<Record<string, unknown>>;

const DRAFT = "https://json-schema.org/draft/2020-12/schema";

/** They say nothing that must hold. */
const REMARKS: ReadonlySet<string> = new Set([
  "title",
  "description",
  "$comment",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
  "format",
  "contentEncoding",
  "contentMediaType",
  "contentSchema",
]);

const RULES: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "$anchor",
  "$ref",
  "$defs",
  "definitions",
  "type",
  "enum",
  "const",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "uniqueItems",
  "required",
  "dependentRequired",
  "dependentSchemas",
  "properties",
  "additionalProperties",
  "propertyNames",
  "items",
  "prefixItems",
  "contains",
  "minContains",
  "maxContains",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

const NO_PATTERNS = "is not checked here: a regular expression can take forever on a hostile answer";
const NO_DYNAMIC = "is not known here: write $ref";

const REFUSED: Readonly<Record<string, string>> = {
  pattern: NO_PATTERNS,
  patternProperties: NO_PATTERNS,
  $dynamicRef: NO_DYNAMIC,
  $dynamicAnchor: "is not known here: write $anchor",
  $recursiveRef: NO_DYNAMIC,
  nullable: 'is not of draft 2020-12: write type: [TYPE, "null"]',
  dependencies: "is not of draft 2020-12: write dependentRequired or dependentSchemas",
  additionalItems: "is not of draft 2020-12: write prefixItems and items",
};

/** So many schemas may be about one value, one because of the other. */
const MOST_IN_A_ROW = 100;

type Reference = { readonly path: Path; readonly target: string; readonly schemas: number[] };

class Reader {
  readonly schemas: Rule[][] = [];
  readonly faults: ContractFault[] = [];
  readonly formats: Path[] = [];
  /** Where each schema is written. */
  readonly #paths: Path[] = [];
  /** By pointer, and by anchor. */
  readonly #targets = new Map<string, number>();
  readonly #references: Reference[] = [];

  schema(written: unknown, path: Path): number {
    const number = this.schemas.length;
    const rules: Rule[] = [];
    this.schemas.push(rules);
    this.#paths.push(path);
    this.#targets.set(pointerTo(path), number);
    if (written === false) rules.push({ kind: "never" });
    else if (isObject(written)) rules.push(...this.#rules(written, path));
    else if (written !== true) this.#refuse(path, "must be a schema: an object, true or false");
    return number;
  }

  resolve(): void {
    for (const { path, target, schemas } of this.#references) {
      const number = this.#targets.get(target);
      if (number === undefined) this.#refuse(path, "must lead to a schema of this file");
      else schemas.push(number);
    }
  }

  /** A schema that is about a value because of itself would be judged without end. */
  refuseLoops(): void {
    const sound = new Set<number>();
    const visit = (number: number, depth: number): boolean => {
      if (sound.has(number)) return true;
      if (depth > MOST_IN_A_ROW) return false;
      for (const rule of this.schemas[number] ?? []) {
        if (!schemasOfSameValue(rule).every((next) => visit(next, depth + 1))) return false;
      }
      sound.add(number);
      return true;
    };
    const unsound = this.schemas.findIndex((_, number) => !visit(number, 0));
    if (unsound < 0) return;
    const must = `must not lead through itself, or through more than ${MOST_IN_A_ROW} schemas, back to the same value`;
    this.#refuse(this.#paths[unsound] ?? [], must);
  }

  #rules(written: Written, path: Path): readonly Rule[] {
    for (const key of Object.keys(written)) {
      const at = [...path, key];
      if (RULES.has(key) || REMARKS.has(key)) continue;
      const known = Object.hasOwn(REFUSED, key) ? REFUSED[key] : undefined;
      this.faults.push({ path: at, atKey: true, message: known ?? "is not a keyword that is known here" });
    }
    if (written["format"] !== undefined) this.formats.push([...path, "format"]);
    this.#identify(written, path);
    for (const key of ["$defs", "definitions"]) this.#schemasByName(written, path, key);
    return [
      ...this.#typeAndValues(written, path),
      ...this.#numbers(written, path),
      ...this.#sizes(written, path),
      ...this.#objects(written, path),
      ...this.#lists(written, path),
      ...this.#combinations(written, path),
      ...this.#unevaluated(written, path),
    ];
  }

  #identify(written: Written, path: Path): void {
    const { $schema, $id, $anchor } = written;
    if ($schema !== undefined && $schema !== DRAFT && $schema !== `${DRAFT}#`) {
      this.#refuse([...path, "$schema"], `must be ${DRAFT}`);
    }
    // A name for the whole file changes nothing, as no other file can refer to it.
    if ($id !== undefined && (path.length > 0 || typeof $id !== "string")) {
      this.#refuse([...path, "$id"], "must be a text, and stand only at the beginning of the file");
    }
    if ($anchor === undefined) return;
    const number = this.#targets.get(pointerTo(path)) ?? 0;
    const isName = typeof $anchor === "string" && /^[A-Za-z_][\w.-]*$/.test($anchor);
    if (!isName) return this.#refuse([...path, "$anchor"], "must be a plain name");
    if (this.#targets.has($anchor)) this.#refuse([...path, "$anchor"], "must be a name of its own");
    this.#targets.set($anchor, number);
  }

  #typeAndValues(written: Written, path: Path): readonly Rule[] {
    const rules: Rule[] = [];
    const { type } = written;
    if (type !== undefined) {
      const types = (isList(type) ? type : [type]).filter(isJsonType);
      const isSound = isList(type) ? types.length === type.length : types.length === 1;
      if (types.length === 0 || !isSound) {
        this.#refuse([...path, "type"], `must be one of ${JSON_TYPES.join(", ")}, or a list of them`);
      }
      rules.push({ kind: "type", types });
    }
    if (written["const"] !== undefined) rules.push({ kind: "values", values: [written["const"]] });
    const values = written["enum"];
    if (values === undefined) return rules;
    if (!isList(values)) this.#refuse([...path, "enum"], "must be a list of values");
    else rules.push({ kind: "values", values });
    return rules;
  }

  #numbers(written: Written, path: Path): readonly Rule[] {
    return NUMBERS.flatMap(([key, kind]) => {
      const number = written[key];
      if (number === undefined) return [];
      const isSound = typeof number === "number" && Number.isFinite(number);
      if (isSound && (kind !== "multiple" || number > 0)) return [{ kind, number }];
      this.#refuse([...path, key], kind === "multiple" ? "must be a number above 0" : "must be a number");
      return [];
    });
  }

  #sizes(written: Written, path: Path): readonly Rule[] {
    return SIZES.flatMap(([least, most, of]) => {
      const [min, max] = [this.#count(written, path, least), this.#count(written, path, most)];
      return min === undefined && max === undefined ? [] : [{ kind: "size", of, min, max }];
    });
  }

  #objects(written: Written, path: Path): readonly Rule[] {
    const rules: Rule[] = [];
    const names = this.#namesIn(written["required"], [...path, "required"]);
    if (names.length > 0) rules.push({ kind: "required", names, when: undefined });
    for (const [when, dependent] of this.#entriesOf(written, path, "dependentRequired")) {
      rules.push({
        kind: "required",
        names: this.#namesIn(dependent, [...path, "dependentRequired", when]),
        when,
      });
    }
    const properties = this.#schemasByName(written, path, "properties");
    const others = this.#schemaOf(written, path, "additionalProperties");
    if (properties.length > 0 || others !== undefined) {
      const named = Object.fromEntries(properties);
      rules.push({ kind: "properties", names: Object.keys(named), named, others });
    }
    const schema = this.#schemaOf(written, path, "propertyNames");
    if (schema !== undefined) rules.push({ kind: "names", schema });
    return rules;
  }

  #lists(written: Written, path: Path): readonly Rule[] {
    const rules: Rule[] = [];
    const first = this.#schemasIn(written, path, "prefixItems") ?? [];
    const rest = this.#schemaOf(written, path, "items");
    if (first.length > 0 || rest !== undefined) rules.push({ kind: "items", first, rest });
    const schema = this.#schemaOf(written, path, "contains");
    const min = this.#count(written, path, "minContains");
    const max = this.#count(written, path, "maxContains");
    if (schema !== undefined) rules.push({ kind: "contains", schema, min: min ?? 1, max });
    const unique = written["uniqueItems"];
    if (unique !== undefined && typeof unique !== "boolean") {
      this.#refuse([...path, "uniqueItems"], "must be true or false");
    }
    if (unique === true) rules.push({ kind: "unique" });
    return rules;
  }

  #combinations(written: Written, path: Path): readonly Rule[] {
    const rules: Rule[] = [];
    const reference = written["$ref"];
    if (reference !== undefined) rules.push(this.#reference(reference, [...path, "$ref"]));
    const all = this.#schemasIn(written, path, "allOf");
    const any = this.#schemasIn(written, path, "anyOf");
    const one = this.#schemasIn(written, path, "oneOf");
    const not = this.#schemaOf(written, path, "not");
    const condition = this.#schemaOf(written, path, "if");
    const fits = this.#schemaOf(written, path, "then");
    const otherwise = this.#schemaOf(written, path, "else");
    if (all !== undefined) rules.push({ kind: "all", schemas: all, when: undefined });
    if (any !== undefined) rules.push({ kind: "any", schemas: any });
    if (one !== undefined) rules.push({ kind: "one", schemas: one });
    if (not !== undefined) rules.push({ kind: "not", schema: not });
    if (condition !== undefined) rules.push({ kind: "if", condition, fits, otherwise });
    for (const [when, schema] of this.#schemasByName(written, path, "dependentSchemas")) {
      rules.push({ kind: "all", schemas: [schema], when });
    }
    return rules;
  }

  #unevaluated(written: Written, path: Path): readonly Rule[] {
    const ofList = this.#schemaOf(written, path, "unevaluatedItems");
    const ofObject = this.#schemaOf(written, path, "unevaluatedProperties");
    const rules: Rule[] = [];
    if (ofList !== undefined) rules.push({ kind: "unevaluated", of: "list", schema: ofList });
    if (ofObject !== undefined) rules.push({ kind: "unevaluated", of: "object", schema: ofObject });
    return rules;
  }

  #reference(reference: unknown, path: Path): Rule {
    const schemas: number[] = [];
    const target = typeof reference === "string" ? fragmentOf(reference) : undefined;
    if (target === undefined) {
      this.#refuse(path, "must lead to a schema of this file, such as #/$defs/item: no other is read");
    } else {
      this.#references.push({ path, target, schemas });
    }
    return { kind: "all", schemas, when: undefined };
  }

  #schemaOf(written: Written, path: Path, key: string): number | undefined {
    const found = written[key];
    return found === undefined ? undefined : this.schema(found, [...path, key]);
  }

  #schemasIn(written: Written, path: Path, key: string): readonly number[] | undefined {
    const found = written[key];
    if (found === undefined) return undefined;
    const at = [...path, key];
    if (isList(found) && found.length > 0) {
      return found.map((schema, index) => this.schema(schema, [...at, index]));
    }
    this.#refuse(at, "must be a list of at least one schema");
    return undefined;
  }

  #schemasByName(written: Written, path: Path, key: string): readonly (readonly [string, number])[] {
    return this.#entriesOf(written, path, key).map(([name, schema]) => [
      name,
      this.schema(schema, [...path, key, name]),
    ]);
  }

  #entriesOf(written: Written, path: Path, key: string): readonly (readonly [string, unknown])[] {
    const found = written[key];
    if (found === undefined) return [];
    if (isObject(found)) return Object.entries(found);
    this.#refuse([...path, key], "must be an object");
    return [];
  }

  #namesIn(found: unknown, path: Path): readonly string[] {
    if (found === undefined) return [];
    if (isList(found) && found.every((name) => typeof name === "string")) return found;
    this.#refuse(path, "must be a list of names");
    return [];
  }

  #count(written: Written, path: Path, key: string): number | undefined {
    const found = written[key];
    if (found === undefined) return undefined;
    if (typeof found === "number" && Number.isSafeInteger(found) && found >= 0) return found;
    this.#refuse([...path, key], "must be a whole number from 0");
    return undefined;
  }

  #refuse(path: Path, message: string): void {
    this.faults.push({ path, atKey: false, message });
  }
}

const NUMBERS: readonly (readonly [string, "least" | "most" | "above" | "below" | "multiple"])[] = [
  ["minimum", "least"],
  ["maximum", "most"],
  ["exclusiveMinimum", "above"],
  ["exclusiveMaximum", "below"],
  ["multipleOf", "multiple"],
];

const SIZES: readonly (readonly [string, string, "text" | "list" | "object"])[] = [
  ["minLength", "maxLength", "text"],
  ["minItems", "maxItems", "list"],
  ["minProperties", "maxProperties", "object"],
];

function isJsonType(type: unknown): type is JsonType {
  return JSON_TYPES.some((known) => known === type);
}

/** A pointer or an anchor; undefined where it is of another file, or no URL at all. */
function fragmentOf(reference: string): string | undefined {
  if (!reference.startsWith("#")) return undefined;
  try {
    return decodeURIComponent(reference.slice(1));
  } catch {
    return undefined;
  }
}

/** Reads a JSON Schema into a contract. What is not known is refused, never left out. */

import { type JsonType, JSON_TYPES, isList, isObject } from "../exchange/json-value.ts";
import { pointerTo } from "../exchange/json-pointer.ts";
import { wordSet } from "../text/word-set.ts";
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

/** `patternFault` says what is wrong with an expression; undefined for a valid one. */
export function readContract(
  document: unknown,
  patternFault: (pattern: string) => string | undefined = () => undefined,
): ContractReading {
  const file = new SchemaFile(patternFault);
  file.read(document, []);
  file.resolve();
  if (file.faults.length === 0) file.refuseLoops();
  if (file.faults.length > 0) return { kind: "refused", faults: file.faults };
  return { kind: "contract", contract: file.schemas, formats: file.formats };
}

const DRAFT = "https://json-schema.org/draft/2020-12/schema";

/** They say nothing that must hold. */
const REMARKS = wordSet(
  `title description $comment default examples deprecated readOnly writeOnly format contentEncoding contentMediaType
  contentSchema`,
);

const NO_DYNAMIC = "is not known here: write $ref";

const REFUSED: ReadonlyMap<string, string> = new Map([
  ["$dynamicRef", NO_DYNAMIC],
  ["$dynamicAnchor", "is not known here: write $anchor"],
  ["$recursiveRef", NO_DYNAMIC],
  ["nullable", 'is not of draft 2020-12: write type: [TYPE, "null"]'],
  ["dependencies", "is not of draft 2020-12: write dependentRequired or dependentSchemas"],
  ["additionalItems", "is not of draft 2020-12: write prefixItems and items"],
]);

/** So many schemas may be about one value, one because of the other. */
const MOST_IN_A_ROW = 100;

type Reference = { readonly path: Path; readonly target: string; readonly schemas: number[] };

/** All schemas of a file, which refer to each other by pointer and by anchor. */
class SchemaFile {
  readonly patternFault: (pattern: string) => string | undefined;
  readonly schemas: Rule[][] = [];
  readonly faults: ContractFault[] = [];
  readonly formats: Path[] = [];
  /** Where each schema is written. */
  readonly #paths: Path[] = [];
  readonly #targets = new Map<string, number>();
  readonly #references: Reference[] = [];

  constructor(patternFault: (pattern: string) => string | undefined) {
    this.patternFault = patternFault;
  }

  read(written: unknown, path: Path): number {
    const number = this.schemas.length;
    const rules: Rule[] = [];
    this.schemas.push(rules);
    this.#paths.push(path);
    this.#targets.set(pointerTo(path), number);
    if (written === false) rules.push({ kind: "never" });
    else if (isObject(written)) rules.push(...new SchemaReader(this, written, path, number).rules());
    else if (written !== true) this.refuse(path, "must be a schema: an object, true or false");
    return number;
  }

  refuse(path: Path, message: string): void {
    this.faults.push({ path, atKey: false, message });
  }

  /** False where that name is taken. */
  anchor(name: string, schema: number): boolean {
    const isTaken = this.#targets.has(name);
    this.#targets.set(name, schema);
    return !isTaken;
  }

  /** What it leads to is known when the whole file is read. */
  refer(path: Path, target: string): Rule {
    const schemas: number[] = [];
    this.#references.push({ path, target, schemas });
    return { kind: "all", schemas, when: undefined };
  }

  resolve(): void {
    for (const { path, target, schemas } of this.#references) {
      const number = this.#targets.get(target);
      if (number === undefined) this.refuse(path, "must lead to a schema of this file");
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
    this.refuse(this.#paths[unsound] ?? [], must);
  }
}

/** One schema that is an object. A keyword that nothing here asks for is refused: it may say what must hold. */
class SchemaReader {
  readonly #file: SchemaFile;
  readonly #written: Readonly<Record<string, unknown>>;
  readonly #path: Path;
  readonly #number: number;
  readonly #asked = new Set(REMARKS);

  constructor(file: SchemaFile, written: Readonly<Record<string, unknown>>, path: Path, number: number) {
    this.#file = file;
    this.#written = written;
    this.#path = path;
    this.#number = number;
  }

  rules(): readonly Rule[] {
    if (this.#get("format") !== undefined) this.#file.formats.push([...this.#path, "format"]);
    this.#identify();
    for (const key of ["$defs", "definitions"]) this.#schemasByName(key);
    const rules = [
      ...this.#typeAndValues(),
      ...this.#numbersAndSizes(),
      ...this.#pattern(),
      ...this.#objects(),
      ...this.#lists(),
      ...this.#combinations(),
      ...this.#unevaluated(),
    ];
    for (const key of Object.keys(this.#written)) {
      if (this.#asked.has(key)) continue;
      const message = REFUSED.get(key) ?? "is not a keyword that is known here";
      this.#file.faults.push({ path: [...this.#path, key], atKey: true, message });
    }
    return rules;
  }

  #identify(): void {
    const [$schema, $id, $anchor] = ["$schema", "$id", "$anchor"].map((key) => this.#get(key));
    if ($schema !== undefined && $schema !== DRAFT && $schema !== `${DRAFT}#`) {
      this.#refuse("$schema", `must be ${DRAFT}`);
    }
    // A name for the whole file changes nothing, as no other file can refer to it.
    if ($id !== undefined && (this.#path.length > 0 || typeof $id !== "string")) {
      this.#refuse("$id", "must be a text, and stand only at the beginning of the file");
    }
    if ($anchor === undefined) return;
    const isName = typeof $anchor === "string" && /^[A-Za-z_][\w.-]*$/.test($anchor);
    if (!isName) return this.#refuse("$anchor", "must be a plain name");
    if (!this.#file.anchor($anchor, this.#number)) this.#refuse("$anchor", "must be a name of its own");
  }

  *#typeAndValues(): Generator<Rule> {
    const [type, value, values] = ["type", "const", "enum"].map((key) => this.#get(key));
    if (type !== undefined) {
      const named = isList(type) ? type : [type];
      const types = named.filter(isJsonType);
      if (types.length === 0 || types.length < named.length) {
        this.#refuse("type", `must be one of ${JSON_TYPES.join(", ")}, or a list of them`);
      }
      yield { kind: "type", types };
    }
    if (value !== undefined) yield { kind: "values", values: [value] };
    if (isList(values)) yield { kind: "values", values };
    else if (values !== undefined) this.#refuse("enum", "must be a list of values");
  }

  *#numbersAndSizes(): Generator<Rule> {
    for (const [key, kind] of NUMBERS) {
      const number = this.#get(key);
      const isSound = typeof number === "number" && Number.isFinite(number);
      if (isSound && (kind !== "multiple" || number > 0)) yield { kind, number };
      else if (number !== undefined)
        this.#refuse(key, kind === "multiple" ? "must be a number above 0" : "must be a number");
    }
    for (const [least, most, of] of SIZES) {
      const [min, max] = [this.#count(least), this.#count(most)];
      if (min !== undefined || max !== undefined) yield { kind: "size", of, min, max };
    }
  }

  *#pattern(): Generator<Rule> {
    const pattern = this.#get("pattern");
    if (pattern !== undefined) this.#checkPattern(pattern, ["pattern"]);
    if (typeof pattern === "string") yield { kind: "pattern", pattern };
  }

  #checkPattern(pattern: unknown, place: Path): void {
    const fault = typeof pattern === "string" ? this.#file.patternFault(pattern) : "it is not a text";
    if (fault === undefined) return;
    this.#file.refuse([...this.#path, ...place], `must be an expression that RE2 knows: ${fault}`);
  }

  *#objects(): Generator<Rule> {
    const names = this.#namesIn(this.#get("required"), ["required"]);
    if (names.length > 0) yield { kind: "required", names, when: undefined };
    for (const [when, dependent] of this.#entriesOf("dependentRequired")) {
      yield { kind: "required", names: this.#namesIn(dependent, ["dependentRequired", when]), when };
    }
    const properties = this.#schemasByName("properties");
    const others = this.#schema("additionalProperties");
    const matching = this.#schemasByName("patternProperties");
    for (const [pattern] of matching) this.#checkPattern(pattern, ["patternProperties", pattern]);
    if (properties.length > 0 || matching.length > 0 || others !== undefined) {
      const named = Object.fromEntries(properties);
      yield { kind: "properties", names: Object.keys(named), named, matching, others };
    }
    const schema = this.#schema("propertyNames");
    if (schema !== undefined) yield { kind: "names", schema };
  }

  *#lists(): Generator<Rule> {
    const [first, rest] = [this.#schemas("prefixItems") ?? [], this.#schema("items")];
    if (first.length > 0 || rest !== undefined) yield { kind: "items", first, rest };
    const schema = this.#schema("contains");
    const [min = 1, max] = [this.#count("minContains"), this.#count("maxContains")];
    if (schema !== undefined) yield { kind: "contains", schema, min, max };
    const unique = this.#get("uniqueItems");
    if (unique === true) yield { kind: "unique" };
    else if (unique !== undefined && unique !== false) this.#refuse("uniqueItems", "must be true or false");
  }

  *#combinations(): Generator<Rule> {
    const written = this.#get("$ref");
    const target = typeof written === "string" ? fragmentOf(written) : undefined;
    if (target !== undefined) yield this.#file.refer([...this.#path, "$ref"], target);
    else if (written !== undefined)
      this.#refuse("$ref", "must lead to a schema of this file, such as #/$defs/item: no other is read");
    const [all, any, one] = [this.#schemas("allOf"), this.#schemas("anyOf"), this.#schemas("oneOf")];
    const not = this.#schema("not");
    const [condition, fits, otherwise] = [this.#schema("if"), this.#schema("then"), this.#schema("else")];
    if (all !== undefined) yield { kind: "all", schemas: all, when: undefined };
    if (any !== undefined) yield { kind: "any", schemas: any };
    if (one !== undefined) yield { kind: "one", schemas: one };
    if (not !== undefined) yield { kind: "not", schema: not };
    if (condition !== undefined) yield { kind: "if", condition, fits, otherwise };
    for (const [when, schema] of this.#schemasByName("dependentSchemas")) {
      yield { kind: "all", schemas: [schema], when };
    }
  }

  *#unevaluated(): Generator<Rule> {
    for (const [key, of] of UNEVALUATED) {
      const schema = this.#schema(key);
      if (schema !== undefined) yield { kind: "unevaluated", of, schema };
    }
  }

  #get(key: string): unknown {
    this.#asked.add(key);
    return this.#written[key];
  }

  #schema(key: string): number | undefined {
    const found = this.#get(key);
    return found === undefined ? undefined : this.#file.read(found, [...this.#path, key]);
  }

  #schemas(key: string): readonly number[] | undefined {
    const found = this.#get(key);
    if (found === undefined) return undefined;
    if (isList(found) && found.length > 0) {
      return found.map((schema, index) => this.#file.read(schema, [...this.#path, key, index]));
    }
    this.#refuse(key, "must be a list of at least one schema");
    return undefined;
  }

  #schemasByName(key: string): readonly (readonly [string, number])[] {
    return this.#entriesOf(key).map(([name, schema]) => [
      name,
      this.#file.read(schema, [...this.#path, key, name]),
    ]);
  }

  #entriesOf(key: string): readonly (readonly [string, unknown])[] {
    const found = this.#get(key);
    if (found === undefined) return [];
    if (isObject(found)) return Object.entries(found);
    this.#refuse(key, "must be an object");
    return [];
  }

  #namesIn(found: unknown, place: Path): readonly string[] {
    if (found === undefined) return [];
    if (isList(found) && found.every((name) => typeof name === "string")) return found;
    this.#file.refuse([...this.#path, ...place], "must be a list of names");
    return [];
  }

  #count(key: string): number | undefined {
    const found = this.#get(key);
    if (found === undefined) return undefined;
    if (typeof found === "number" && Number.isSafeInteger(found) && found >= 0) return found;
    this.#refuse(key, "must be a whole number from 0");
    return undefined;
  }

  #refuse(key: string, message: string): void {
    this.#file.refuse([...this.#path, key], message);
  }
}

const NUMBERS: readonly (readonly [string, "least" | "most" | "above" | "below" | "multiple"])[] = [
  ["minimum", "least"],
  ["maximum", "most"],
  ["exclusiveMinimum", "above"],
  ["exclusiveMaximum", "below"],
  ["multipleOf", "multiple"],
];

const UNEVALUATED = [
  ["unevaluatedItems", "list"],
  ["unevaluatedProperties", "object"],
] as const;

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

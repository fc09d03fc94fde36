import {
  counted,
  existenceInWords,
  JSON_TYPES,
  type JsonType,
  numberInWords,
  sizeInWords,
  typesInWords,
  valuesInWords,
} from "../../../kernel/exchange/json-value.ts";
import { isList } from "../../../kernel/text/json.ts";

const SIZES: Readonly<Record<string, readonly [whole: string, part: string]>> = {
  Length: ["a text", "character"],
  Items: ["a list", "item"],
  Properties: ["an object", "property"],
  Contains: ["a list", "item"],
};

const SIZE = /^(min|max)(Length|Items|Properties|Contains)$/;

/** Goes on after "expected": names what a value that breaks this keyword should have been. */
export function ruleInWords(keyword: string, written: unknown): string {
  const number = Number(written);
  const [, bound, of = ""] = SIZE.exec(keyword) ?? [];
  const [whole, part] = SIZES[of] ?? [];
  if (whole !== undefined && part !== undefined) {
    const bounds = bound === "min" ? { min: number, max: undefined } : { min: undefined, max: number };
    return `${sizeInWords(whole, part, bounds)}${of === "Contains" ? ' as "contains" says' : ""}`;
  }
  switch (keyword) {
    case "false":
      return existenceInWords(false);
    case "type":
      return typesInWords((isList(written) ? written : [written]).filter(isJsonType));
    case "const":
      return valuesInWords([written]);
    case "enum":
      return valuesInWords(isList(written) ? written : []);
    case "minimum":
      return numberInWords({ min: number, max: undefined });
    case "maximum":
      return numberInWords({ min: undefined, max: number });
    case "exclusiveMinimum":
      return `a number above ${number}`;
    case "exclusiveMaximum":
      return `a number below ${number}`;
    case "multipleOf":
      return `a multiple of ${number}`;
    case "pattern":
      return `a text that matches ${JSON.stringify(written)}`;
    case "uniqueItems":
      return "a list without equal items";
    case "contains":
      return ruleInWords("minContains", 1);
    default:
      return `what "${keyword}" ${keyword === "not" ? "does not say" : "says"}`;
  }
}

/** Undefined for those that tell of a part of the value. */
export function alternativesInWords(
  keyword: "anyOf" | "oneOf",
  alternatives: readonly (string | undefined)[],
): string {
  if (alternatives.every((words) => words !== undefined)) return [...new Set(alternatives)].join(" or ");
  const which = keyword === "anyOf" ? "one" : "exactly one";
  return `what ${which} of the ${counted(alternatives.length, "schema")} in "${keyword}" says`;
}

function isJsonType(type: unknown): type is JsonType {
  return JSON_TYPES.some((known) => known === type);
}

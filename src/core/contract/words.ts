import {
  counted,
  existenceInWords,
  numberInWords,
  sizeInWords,
  typesInWords,
  valuesInWords,
} from "../exchange/json-value.ts";
import type { Rule } from "./contract.ts";
import type { Broken } from "./judge.ts";

/** Goes on after "expected": names what a value that broke a rule should have been. */
export function brokenInWords({ rule, alternatives = [rule] }: Broken): string {
  return [...new Set(alternatives.map((each) => ruleInWords(each)))].join(" or ");
}

const PARTS = { text: "character", list: "item", object: "property" } as const;

function ruleInWords(rule: Rule): string {
  switch (rule.kind) {
    case "never":
      return existenceInWords(false);
    case "type":
      return typesInWords(rule.types);
    case "values":
      return valuesInWords(rule.values);
    case "least":
      return numberInWords({ min: rule.number, max: undefined });
    case "most":
      return numberInWords({ min: undefined, max: rule.number });
    case "above":
      return `a number above ${rule.number}`;
    case "below":
      return `a number below ${rule.number}`;
    case "multiple":
      return `a multiple of ${rule.number}`;
    case "size":
      return sizeInWords(`${rule.of === "object" ? "an" : "a"} ${rule.of}`, PARTS[rule.of], rule);
    case "pattern":
      return `a text that matches ${JSON.stringify(rule.pattern)}`;
    case "unique":
      return "a list without equal items";
    case "required":
      return existenceInWords(true);
    case "contains":
      return `${sizeInWords("a list", "item", rule)} as \`contains\` says`;
    case "any":
      return `what one of the ${counted(rule.schemas.length, "schema")} in \`anyOf\` says`;
    case "one":
      return `what exactly one of the ${counted(rule.schemas.length, "schema")} in \`oneOf\` says`;
    case "not":
      return "what `not` does not say";
    // They break only by what is inside.
    case "properties":
    case "names":
    case "items":
    case "all":
    case "if":
    case "unevaluated":
      return "something else";
    default:
      return rule satisfies never;
  }
}

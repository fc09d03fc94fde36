/** Regular expressions in the syntax of RE2, which take a time that grows with the text and no faster. */

import type { RE2JS } from "re2js";
import { messageOf } from "../../kernel/text/escape.ts";

/** A larger one would take too long for a text of any length. Each character in it counts as one, each repetition as all that it repeats. */
const LARGEST_EXPRESSION = 1_000;

export type Expressions = {
  readonly matches: (pattern: string, text: string) => boolean;
  /** The fault of an expression; undefined for a valid one. */
  readonly faultOf: (pattern: string) => string | undefined;
};

/** The engine is large: it is loaded only where a config has an expression. */
export async function openExpressions(): Promise<Expressions> {
  const engine = await import("re2js");
  const compiled = new Map<string, RE2JS>();
  const compile = (pattern: string): RE2JS => {
    const known = compiled.get(pattern);
    if (known !== undefined) return known;
    const made = engine.RE2JS.compile(engine.RE2JS.translateRegExp(pattern));
    compiled.set(pattern, made);
    return made;
  };
  return {
    faultOf: (pattern) => {
      try {
        const size = compile(pattern).programSize();
        return size > LARGEST_EXPRESSION
          ? `it has ${size} steps, and may have ${LARGEST_EXPRESSION}`
          : undefined;
      } catch (error) {
        return messageOf(error);
      }
    },
    matches: (pattern, text) => compile(pattern).test(text),
  };
}

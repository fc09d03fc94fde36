import { ownCopy } from "../text/own-copy.ts";
import type { WithoutKeys } from "./exchange.ts";

/** Many short texts without keys, all at once, which is cheaper. None of them may have a line feed. */
export function cleanTexts(texts: readonly string[], withoutKeys: WithoutKeys): readonly string[] {
  if (texts.length === 0) return texts;
  const each = [...new Set(texts)];
  const clean = ownCopy(withoutKeys(each.join("\n")).split("\n"));
  const cleanOf = new Map(each.map((text, index) => [text, clean[index] ?? ""]));
  return texts.map((text) => cleanOf.get(text) ?? "");
}

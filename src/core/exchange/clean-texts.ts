import type { WithoutKeys } from "./exchange.ts";

/** Many short texts without keys, all at once, which is cheaper. None of them may have a line feed. */
export function cleanTexts(texts: readonly string[], withoutKeys: WithoutKeys): readonly string[] {
  const clean = withoutKeys([...texts, ""].join("\n")).split("\n");
  return texts.map((_, index) => clean[index] ?? "");
}

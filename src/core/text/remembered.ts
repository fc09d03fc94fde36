/** A longer text is not kept: whoever sends it chooses it. */
const LONGEST_CHARS = 256;

/** Works out what a text means once, as the same texts come each time. Once `most` are known, all are forgotten. */
export function remembered<Result>(
  most: number,
  workOut: (text: string) => Result,
): (text: string) => Result {
  const known = new Map<string, { readonly result: Result }>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before.result;
    const result = workOut(text);
    if (known.size >= most) known.clear();
    if (text.length <= LONGEST_CHARS) known.set(text, { result });
    return result;
  };
}

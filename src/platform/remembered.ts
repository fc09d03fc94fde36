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

/** Of what was kept longest ago, only so much stays that there are `most`. */
export function keepNewest<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  forgetOldest(map, most);
}

export function forgetOldest(map: Map<string, unknown>, most: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= most) return;
    map.delete(oldest);
  }
}

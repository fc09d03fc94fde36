/** Lists of thousands are within an object, or within an object in it. */
const DEPTH = 2;

/** The text of `JSON.stringify`, in pieces. What has a method `toJSON` is made when its turn comes. */
export function* jsonPieces(value: unknown, depth: number = DEPTH): Generator<string, void, void> {
  if (typeof value !== "object" || value === null || depth === 0 || "toJSON" in value) {
    yield JSON.stringify(value) ?? "null";
  } else if (Array.isArray(value)) {
    let before = "[";
    for (const item of value) {
      yield before + (JSON.stringify(item) ?? "null");
      before = ",";
    }
    yield value.length === 0 ? "[]" : "]";
  } else {
    let before = "{";
    for (const [key, field] of Object.entries(value)) {
      if (field === undefined) continue;
      yield `${before}${JSON.stringify(key)}:`;
      yield* jsonPieces(field, depth - 1);
      before = ",";
    }
    yield before === "{" ? "{}" : "}";
  }
}

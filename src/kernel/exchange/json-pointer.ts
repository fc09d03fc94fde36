const INDEX = /^(?:0|[1-9]\d{0,9})$/;

/** What stands there by RFC 6901; undefined for nothing. An empty pointer is the whole. */
export function valueAt(json: unknown, pointer: string): unknown {
  const isEscaped = pointer.includes("~");
  let value = json;
  for (const step of pointer.split("/").slice(1)) {
    const name = isEscaped ? step.replaceAll("~1", "/").replaceAll("~0", "~") : step;
    if (typeof value !== "object" || value === null) return undefined;
    if (Array.isArray(value) ? !INDEX.test(name) : !Object.hasOwn(value, name)) return undefined;
    value = Reflect.get(value, name);
  }
  return value;
}

/** The pointer that leads there by these names and positions. */
export function pointerTo(steps: readonly (string | number)[]): string {
  return steps.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

export type Environment = Readonly<Record<string, string | undefined>>;

export type Interpolation =
  /** `values`: what its variables, or their defaults, put in, which is never shown. */
  | { readonly kind: "text"; readonly text: string; readonly values: readonly string[] }
  | { readonly kind: "unset"; readonly variables: readonly string[] }
  | { readonly kind: "malformed" };

const NAME = /(?:each\.)?[A-Za-z_][A-Za-z0-9_]*/y;

/** The upstreams of one template differ in this. It is no variable, and is filled in when these are made. */
export const EACH: RegExp = /(?<!\$)\$\{each\.([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** `${VAR}`, and `${VAR:-default}` for one that is unset or empty, without a variable in it; `$${` is a literal `${`. */
export function interpolate(text: string, environment: Environment): Interpolation {
  const unset = new Set<string>();
  const values: string[] = [];
  let [result, from] = ["", 0];
  for (let at = text.indexOf("${"); at >= 0; at = text.indexOf("${", from)) {
    if (at > from && text[at - 1] === "$") {
      result += `${text.slice(from, at - 1)}\${`;
      from = at + 2;
      continue;
    }
    const reference = referenceAt(text, at + 2);
    const isNested = reference?.fallback?.includes("${") === true;
    if (reference === undefined || isNested) return { kind: "malformed" };
    const { name, fallback, end } = reference;
    if (name.startsWith("each.")) {
      if (fallback !== undefined) return { kind: "malformed" };
      result += text.slice(from, end);
      from = end;
      continue;
    }
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    const resolved = fallback === undefined ? value : value || fallback;
    if (resolved === undefined) unset.add(name);
    values.push(resolved ?? "");
    result += `${text.slice(from, at)}${resolved ?? ""}`;
    from = end;
  }
  if (unset.size > 0) return { kind: "unset", variables: [...unset] };
  return { kind: "text", text: result + text.slice(from), values };
}

const DEFAULT = /(?<!\$)\$\{(\w+):-([^}]*)/g;

export function defaultsIn(text: string): readonly { readonly name: string; readonly fallback: string }[] {
  return [...text.matchAll(DEFAULT)].map(([, name = "", fallback = ""]) => ({ name, fallback }));
}

/** A variable with its name alone: its default may be a key that nobody has looked at, as the variable is set. */
export function withoutDefaults(text: string): string {
  return text.replaceAll(DEFAULT, "${$1:-…");
}

/** Whatever they are set to. */
export function variablesIn(text: string): readonly string[] {
  const result = interpolate(text.replaceAll(DEFAULT, "${$1"), {});
  return result.kind === "unset" ? result.variables : [];
}

type Reference = { readonly name: string; readonly fallback: string | undefined; readonly end: number };

/** It looks by hand, as a regular expression would look for the end of every reference again. */
function referenceAt(text: string, start: number): Reference | undefined {
  NAME.lastIndex = start;
  const name = NAME.exec(text)?.[0];
  const close = text.indexOf("}", start);
  if (name === undefined || close < 0) return undefined;
  const rest = text.slice(start + name.length, close);
  if (rest === "") return { name, fallback: undefined, end: close + 1 };
  return rest.startsWith(":-") ? { name, fallback: rest.slice(2), end: close + 1 } : undefined;
}

/** Keys that are written in the path or body of a request, where anybody who reads the config could read them. */

import type { Upstream } from "../../kernel/config/config.ts";
import { NEVER_LITERAL } from "../keys/source.ts";
import { looksLikeSecretHeader, looksLikeSecretParameter } from "../keys/credential-signs.ts";
import { defaultsIn } from "../read/interpolate.ts";
import type { Path, Tree } from "../read/tree.ts";
import type { Contents } from "../schema/section.ts";
import { type Complaint, complainOfValue } from "../read/fault.ts";

const USE_A_VARIABLE = `must not contain a key: ${NEVER_LITERAL}, use a variable such as \${NAME}, or auth`;

/** Fewer characters could be part of anything. */
const LEAST_KEY_CHARS = 8;

/** Such a default is none, whatever its variable or field is called: MAX_TOKENS, max_tokens. */
const NUMBER = /^\d{1,12}$/;
/** Nor is this, whatever its variable is called: TOKENS_PATH. A field that is called so may have a password in it. */
const WORD = /^[a-z]{1,20}$/;

/**
 * By the names of fields and variables, and by what begins as a key does in a header. What comes from a variable may be a
 * key, its default may not.
 */
export function literalKeysIn(tree: Tree | undefined, path: Path): readonly Complaint[] {
  if (tree?.kind === "list")
    return tree.items.flatMap((item, index) => literalKeysIn(item, [...path, index]));
  if (tree?.kind === "map") {
    return [...tree.entries].flatMap(([key, value]) => literalKeysIn(value, [...path, key]));
  }
  if (tree?.kind !== "scalar" || typeof tree.value !== "string") return [];
  const { value, interpolated, standsFor = value, written = standsFor } = tree;
  const field = String(path.at(-1));
  const literals = interpolated ? defaultsIn(written) : [{ name: field, fallback: value }];
  const isKey = literals.some(
    ({ name, fallback }) =>
      fallback.length >= LEAST_KEY_CHARS &&
      ((looksLikeSecretParameter(field) && !(interpolated && NUMBER.test(fallback))) ||
        (looksLikeSecretParameter(name) && !NUMBER.test(fallback) && !WORD.test(fallback)) ||
        [written, fallback].some((text) => looksLikeSecretHeader("", text))),
  );
  return isKey ? [{ ...complainOfValue(path, USE_A_VARIABLE), exposesKey: true }] : [];
}

/** By the keys that the config itself names, which must be in no body. */
export function knownKeysIn(
  upstreams: ReadonlyMap<number, Upstream>,
  { filled }: Pick<Contents, "filled">,
  keys: ReadonlySet<string>,
): readonly Complaint[] {
  const searched = [...keys].filter(({ length }) => length >= LEAST_KEY_CHARS);
  return [...upstreams].flatMap(([index, upstream]) => {
    const { body } = filled(upstream);
    if (body === undefined) return [];
    const text =
      "file" in body ? Buffer.from(body.read?.bytes ?? []).toString("latin1") : JSON.stringify(body);
    if (!searched.some((key) => text.includes(key))) return [];
    return [complainOfValue(["upstreams", index, "body"], USE_A_VARIABLE)];
  });
}

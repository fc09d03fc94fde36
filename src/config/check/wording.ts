/** How a config's parts are named and shown in a sentence, without ever showing what could be a key. */

import type { Path, Tree } from "../read/tree.ts";

const MAX_SHOWN = 60;
/** A password's hash in a wrong place is still one. */
const BCRYPT_HASH = /\$2[abxy]?\$/;

/** `upstreams[0].auth.bearer`. */
export function nameOfPath(path: Path): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      const name = /^[\w.-]{1,64}$/.test(step) ? step : `[${shownText(step)}]`;
      return index === 0 || name.startsWith("[") ? name : `.${name}`;
    })
    .join("");
}

export function received(tree: Tree | undefined, path: Path): string {
  switch (tree?.kind) {
    case "scalar":
      return receivedScalar(tree.value, tree.interpolated || mayHoldSecret(path));
    case "list":
      return tree.items.length === 0 ? "an empty list" : "a list";
    case "map":
      return "a mapping";
    case "void":
    case undefined:
      return "nothing";
    default:
      return tree satisfies never;
  }
}

function receivedScalar(value: unknown, hidden: boolean): string {
  if (value === null || value === undefined) return "nothing";
  if (typeof value === "string") return hidden ? sizeOf(value) : shownText(value);
  const isShown = !hidden && (typeof value === "number" || typeof value === "boolean");
  return isShown ? String(value) : `a ${typeof value}`;
}

/** A key that is not known here. Under auth it could be a secret that was pasted in the wrong place. */
export function shownKey(key: string, path: Path): string {
  const isHidden = !isShowable(key) || (mayHoldSecret(path) && !/^[a-z_]{1,20}$/.test(key));
  return isHidden ? `of ${key.length} characters` : JSON.stringify(key);
}

function shownText(value: string): string {
  return isShowable(value) ? JSON.stringify(value) : sizeOf(value);
}

/** Several lines may be a PEM key that was pasted where its file's name belongs. */
function isShowable(value: string): boolean {
  return value.length <= MAX_SHOWN && !BCRYPT_HASH.test(value) && !/[\r\n]/.test(value);
}

function sizeOf(value: string): string {
  return value === ""
    ? "an empty string"
    : `a string of ${value.length} character${value.length === 1 ? "" : "s"}`;
}

function mayHoldSecret(path: Path): boolean {
  const [section, second, key] = path;
  if (section === "basic_auth_users") return true;
  if (section === "fleet") return second === "redis" && ["url", "password", "username"].includes(String(key));
  return section === "upstreams" && ["auth", "headers", "base_url", "path", "proxy"].includes(String(key));
}

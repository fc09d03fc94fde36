import { type Complaint, complain, complainOfKey } from "./complaint.ts";
import { checkCertificateAndKey, checkExactlyOne, checkSource } from "./key-combinations.ts";
import { isOwnHeader, looksLikeSecretHeader, looksLikeSecretParameter } from "../schema/credential-signs.ts";
import { type Path, type Tree, childOf, entriesOf, flagAt, itemsOf, textAt, treeAt } from "../read/tree.ts";
import { hasQueryParameter, joinUrl, pathFault, urlFault } from "../schema/upstream-url.ts";
import { BODY_CHECKS, HEADER_CHECKS } from "../schema/assertion.ts";
import { RESERVED_LABELS, SCHEDULE_KEYS } from "../schema/upstream.ts";
import { nameOfPath } from "./wording.ts";

/** Rules between the keys of one upstream, with what it has from `defaults`. */
export function checkUpstream(upstream: Tree, path: Path): readonly Complaint[] {
  return [...checkExactlyOne(upstream, path, SCHEDULE_KEYS), ...checkShared(upstream, path)];
}

/** As far as they concern `defaults` alone. */
export function checkDefaults(defaults: Tree, path: Path): readonly Complaint[] {
  const hasSchedule = SCHEDULE_KEYS.some((key) => childOf(defaults, key) !== undefined);
  return [
    ...(hasSchedule ? checkExactlyOne(defaults, path, SCHEDULE_KEYS) : []),
    ...checkShared(defaults, path),
  ];
}

function checkShared(upstream: Tree, path: Path): readonly Complaint[] {
  return [
    ...checkAuth(upstream, [...path, "auth"]),
    ...checkHeaders(upstream, [...path, "headers"]),
    ...checkTls(upstream, [...path, "tls"]),
    ...checkRefusals(upstream, [...path, "expect", "refusals"]),
    ...checkAssertions(upstream, [...path, "expect"]),
    ...checkValues(upstream, [...path, "values"]),
    ...checkLabels(upstream, [...path, "labels"]),
  ];
}

function checkAuth(upstream: Tree, path: Path): readonly Complaint[] {
  const auth = childOf(upstream, "auth");
  return [
    ...checkExactlyOne(auth, path, ["none", "bearer", "header", "query", "oauth2"]),
    ...["bearer", "header", "query"].flatMap((kind) =>
      checkSource(auth === undefined ? undefined : childOf(auth, kind), [...path, kind]),
    ),
    ...checkCarrier(upstream, path),
    ...checkOAuth2(auth === undefined ? undefined : childOf(auth, "oauth2"), [...path, "oauth2"]),
  ];
}

/** Fields of a token request that Pacewatch sets itself. */
const OWN_PARAMETERS: ReadonlySet<string> = new Set(["grant_type", "client_id", "client_secret", "scope"]);

function checkOAuth2(oauth2: Tree | undefined, path: Path): readonly Complaint[] {
  if (oauth2 === undefined) return [];
  const at = [...path, "parameters"];
  return [
    ...checkSource(childOf(oauth2, "client_secret"), [...path, "client_secret"]),
    ...entriesOf(childOf(oauth2, "parameters")).flatMap(([name]) => {
      if (OWN_PARAMETERS.has(name))
        return [complainOfKey([...at, name], `"${nameOfPath([...at, name])}" is set by Pacewatch itself`)];
      if (!looksLikeSecretParameter(name)) return [];
      const must = `"${nameOfPath(at)}" must not contain a key: a key is never written in the config, use client_secret: { env: NAME }`;
      return [complainOfKey([...at, name], must)];
    }),
  ];
}

/** The header or the parameter that carries the key must be free. */
function checkCarrier(upstream: Tree, path: Path): readonly Complaint[] {
  const header = textAt(upstream, "auth", "header", "name");
  if (header !== undefined && isOwnHeader(header)) {
    const at = [...path, "header", "name"];
    return [complain(at, `"${nameOfPath(at)}" must be a header that Pacewatch does not set itself`)];
  }
  const parameter = textAt(upstream, "auth", "query", "name");
  const base = textAt(upstream, "base_url");
  const asked = textAt(upstream, "path") ?? "/";
  if (parameter === undefined || base === undefined) return [];
  if (urlFault(base) !== undefined || pathFault(asked) !== undefined) return [];
  if (!hasQueryParameter(joinUrl(base, asked), parameter)) return [];
  const at = [...path, "query", "name"];
  return [complain(at, `"${nameOfPath(at)}" must be a parameter that base_url and path do not have yet`)];
}

function checkHeaders(upstream: Tree, path: Path): readonly Complaint[] {
  const carrier = textAt(upstream, "auth", "header", "name")?.toLowerCase();
  const sendsBearer = ["bearer", "oauth2"].some((kind) => treeAt(upstream, ["auth", kind]) !== undefined);
  const bearer = sendsBearer ? "authorization" : undefined;
  const taken = new Set([carrier, bearer].filter((name) => name !== undefined));
  return entriesOf(childOf(upstream, "headers")).flatMap(([name, value]) => {
    const at = [...path, name];
    const text = value.kind === "scalar" ? String(value.value) : "";
    const lower = name.toLowerCase();
    if (looksLikeSecretHeader(name, text)) {
      return [complainOfKey(at, `"${nameOfPath(path)}" must not contain a key: ${KEY_PLACE}`)];
    }
    if (isOwnHeader(name)) return [complainOfKey(at, `"${nameOfPath(at)}" is set by Pacewatch itself`)];
    if (taken.has(lower))
      return [complainOfKey(at, `"${nameOfPath(at)}" is set twice (names differ in case only)`)];
    taken.add(lower);
    return [];
  });
}

const KEY_PLACE =
  "a key is never written in the config, use auth: { header: { name: HEADER, env: NAME } } or auth: { bearer: { env: NAME } }";

function checkTls(upstream: Tree, path: Path): readonly Complaint[] {
  const tls = childOf(upstream, "tls");
  if (tls?.kind !== "map" || tls.entries.size === 0) return [];
  const complaints = checkCertificateAndKey(tls, path);
  if (textAt(upstream, "base_url")?.toLowerCase().startsWith("http:") !== true) return complaints;
  const must = `"${nameOfPath(path)}" must not be set where base_url is http://`;
  return [complainOfKey(path, must), ...complaints];
}

/** A refusal is told by one place at most, and by something at least. */
function checkRefusals(upstream: Tree, path: Path): readonly Complaint[] {
  return itemsOf(treeAt(upstream, ["expect", "refusals"])).flatMap((refusal, index) => {
    const at = [...path, index];
    const has = (key: string): boolean => childOf(refusal, key) !== undefined;
    if (refusal.kind !== "map") return [];
    if (has("header") && has("json")) {
      return [complainOfKey([...at, "json"], `"${nameOfPath(at)}" must have header or json, received both`)];
    }
    if (["status", "header", "json", "text"].some(has)) return [];
    const must = "must have at least one of status, header, json, text";
    return [complainOfKey(at, `"${nameOfPath(at)}" ${must}, received none of them`)];
  });
}

/** Each assertion is of one kind, and can be met. */
function checkAssertions(upstream: Tree, path: Path): readonly Complaint[] {
  const expect = childOf(upstream, "expect");
  if (expect === undefined) return [];
  const at = [...path, "body"];
  const needless = flagAt(expect, "json") === false && childOf(expect, "body") !== undefined;
  return [
    ...(needless ? [complainOfKey(at, `"${nameOfPath(at)}" must not be set where json is false`)] : []),
    ...checkEach(childOf(expect, "body"), at, BODY_CHECKS),
    ...checkEach(childOf(expect, "headers"), [...path, "headers"], HEADER_CHECKS),
  ];
}

function checkEach(
  list: Tree | undefined,
  path: Path,
  kinds: readonly (readonly string[])[],
): readonly Complaint[] {
  return itemsOf(list).flatMap((assertion, index) => {
    const at = [...path, index];
    const found = kinds.flatMap((keys) => keys.find((key) => childOf(assertion, key) !== undefined) ?? []);
    if (found[1] !== undefined) {
      const must = `must have one kind of check, received ${found.join(" and ")}: write one entry for each`;
      return [complainOfKey([...at, found[1]], `"${nameOfPath(at)}" ${must}`)];
    }
    return kinds.flatMap(([least = "", most = ""]) => {
      const [min, max] = [numberAt(assertion, least), numberAt(assertion, most)];
      if (min === undefined || max === undefined || min <= max) return [];
      const name = nameOfPath([...at, most]);
      return [
        complain([...at, most], `"${name}" must be at least ${least}, which is ${min}, received ${max}`),
      ];
    });
  });
}

function numberAt(tree: Tree, key: string): number | undefined {
  const found = childOf(tree, key);
  return found?.kind === "scalar" && typeof found.value === "number" ? found.value : undefined;
}

/** Each has one place, and a name of its own. */
function checkValues(upstream: Tree, path: Path): readonly Complaint[] {
  const names = new Set<string>();
  return itemsOf(childOf(upstream, "values")).flatMap((value, index) => {
    const at = [...path, index];
    const complaints = checkExactlyOne(value, at, ["path", "header"]);
    const name = textAt(value, "name");
    if (name === undefined || !names.has(name)) {
      if (name !== undefined) names.add(name);
      return complaints;
    }
    const must = `"${nameOfPath([...at, "name"])}" must be a name of its own, received "${name}" again`;
    return [...complaints, complain([...at, "name"], must)];
  });
}

function checkLabels(upstream: Tree, path: Path): readonly Complaint[] {
  return entriesOf(childOf(upstream, "labels"))
    .filter(([name]) => RESERVED_LABELS.includes(name))
    .map(([name]) =>
      complainOfKey(
        [...path, name],
        `"${nameOfPath([...path, name])}" is a label that metrics, scrapes or alerts set themselves: choose another name`,
      ),
    );
}

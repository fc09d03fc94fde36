import { type Complaint, complain, complainOfKey } from "./complaint.ts";
import { isOwnHeader, looksLikeSecretHeader } from "../schema/credential-signs.ts";
import { type Path, type Tree, childOf, entriesOf, textAt, treeAt } from "../read/tree.ts";
import { hasQueryParameter, joinUrl, pathFault, urlFault } from "../schema/upstream-url.ts";
import { nameOfPath } from "./wording.ts";

/** Labels that a metric, a scrape or an alert sets itself. */
const RESERVED_LABELS: ReadonlySet<string> = new Set([
  "alertname",
  "alertstate",
  "budget",
  "cause",
  "code",
  "exported_instance",
  "exported_job",
  "instance",
  "job",
  "le",
  "node",
  "outcome",
  "per",
  "phase",
  "quantile",
  "reason",
  "severity",
  "state",
  "upstream",
  "vantage",
  "version",
]);

/** What the keys of one upstream have to do with each other. */
export function checkUpstream(upstream: Tree, path: Path): readonly Complaint[] {
  return [
    ...checkSchedule(upstream, path),
    ...checkAuth(upstream, [...path, "auth"]),
    ...checkHeaders(upstream, [...path, "headers"]),
    ...checkTls(upstream, [...path, "tls"]),
    ...checkLabels(upstream, [...path, "labels"]),
  ];
}

function checkSchedule(upstream: Tree, path: Path): readonly Complaint[] {
  if (upstream.kind !== "map") return [];
  const [every, cron] = [upstream.entries.has("every"), upstream.entries.has("cron")];
  const name = nameOfPath(path);
  if (every && cron)
    return [complainOfKey([...path, "cron"], `"${name}" must have every or cron, received both`)];
  return every || cron ? [] : [complain(path, `"${name}" must have every or cron, received neither`)];
}

function checkAuth(upstream: Tree, path: Path): readonly Complaint[] {
  const auth = childOf(upstream, "auth");
  if (auth?.kind !== "map") return [];
  const ways = ["none", "bearer", "header", "query"].filter((way) => auth.entries.has(way));
  const complaints: Complaint[] = [];
  if (ways.length !== 1) {
    const found = ways.length === 0 ? "none of them" : ways.join(" and ");
    const must = `"${nameOfPath(path)}" must have one of none, bearer, header or query, received ${found}`;
    complaints.push(complainOfKey(path, must));
  }
  for (const way of ways) {
    const place = auth.entries.get(way);
    if (place?.kind !== "map") continue;
    const sources = ["env", "file"].filter((source) => place.entries.has(source));
    if (sources.length === 1) continue;
    const found = sources.length === 0 ? "neither" : "both";
    const must = `"${nameOfPath([...path, way])}" must have env or file, received ${found}`;
    complaints.push(complainOfKey([...path, way], must));
  }
  return [...complaints, ...checkCarrier(upstream, path)];
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
  return [complain(at, `"${nameOfPath(at)}" must be a parameter that base_url and path do not have already`)];
}

function checkHeaders(upstream: Tree, path: Path): readonly Complaint[] {
  const carrier = textAt(upstream, "auth", "header", "name")?.toLowerCase();
  const bearer = treeAt(upstream, ["auth", "bearer"]) === undefined ? undefined : "authorization";
  const taken = new Set([carrier, bearer].filter((name) => name !== undefined));
  return entriesOf(childOf(upstream, "headers")).flatMap(([name, value]) => {
    const at = [...path, name];
    const text = value.kind === "scalar" ? String(value.value) : "";
    const lower = name.toLowerCase();
    if (looksLikeSecretHeader(name, text)) {
      return [complainOfKey(at, `"${nameOfPath(path)}" must not hold a key: ${KEY_PLACE}`)];
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
  const complaints: Complaint[] = [];
  if (textAt(upstream, "base_url")?.toLowerCase().startsWith("http:") === true) {
    complaints.push(complainOfKey(path, `"${nameOfPath(path)}" must not be set where base_url is http://`));
  }
  const [cert, key] = [tls.entries.has("cert_file"), tls.entries.has("key_file")];
  if (cert !== key) {
    const missing = cert ? "key_file" : "cert_file";
    const present = cert ? "cert_file" : "key_file";
    const must = `"${nameOfPath([...path, present])}" must come with ${missing}`;
    complaints.push(complainOfKey([...path, present], must));
  }
  return complaints;
}

function checkLabels(upstream: Tree, path: Path): readonly Complaint[] {
  return entriesOf(childOf(upstream, "labels"))
    .filter(([name]) => RESERVED_LABELS.has(name))
    .map(([name]) =>
      complainOfKey(
        [...path, name],
        `"${nameOfPath([...path, name])}" is a label that metrics, scrapes or alerts set themselves: choose another name`,
      ),
    );
}

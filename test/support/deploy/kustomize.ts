import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parse, parseAllDocuments } from "yaml";

/**
 * As much of Kustomize as our own kustomizations use, so that they are judged where no Kustomize is. Where one is, a
 * test compares both. Anything else in a kustomization is refused.
 */

export type Resource = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly [key: string]: unknown };
  readonly [key: string]: unknown;
};

type Kustomization = {
  readonly apiVersion: "kustomize.config.k8s.io/v1beta1";
  readonly kind: "Kustomization";
  readonly namespace: string;
  readonly resources: readonly string[];
  readonly configMapGenerator?: readonly {
    readonly name: string;
    readonly files: readonly string[];
    readonly options?: { readonly disableNameSuffixHash: true };
  }[];
  readonly patches?: readonly Patch[];
};

type Patch = {
  readonly path: string;
  /** Where the patch is of another kind than what it changes, and makes it one. */
  readonly target?: { readonly kind: string; readonly name: string };
  readonly options?: { readonly allowKindChange: true };
};

type Mapping = Readonly<Record<string, unknown>>;

const KNOWN = new Set(["apiVersion", "kind", "namespace", "resources", "configMapGenerator", "patches"]);
/** By what two entries of a list are the same one. The entries of any other list are replaced whole. */
const LIST_KEYS: Mapping = { containers: "name", env: "name", volumes: "name", volumeMounts: "mountPath" };

export function kustomize(folder: string): readonly Resource[] {
  const kustomization = parse(readFileSync(join(folder, "kustomization.yaml"), "utf8")) as Kustomization;
  const unknown = Object.keys(kustomization).filter((key) => !KNOWN.has(key));
  if (unknown.length > 0) throw new Error(`cannot build ${folder}: ${unknown.join(", ")} is not known here`);

  const { namespace, resources, configMapGenerator = [], patches = [] } = kustomization;
  const names = new Map<string, string>();
  const generated = configMapGenerator.map(({ name, files, options }) => {
    const data = Object.fromEntries(
      files.map((file) => [basename(file), readFileSync(join(folder, file), "utf8")]),
    );
    const hashed = options?.disableNameSuffixHash === true ? name : `${name}-${hashOf(data)}`;
    names.set(name, hashed);
    return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: hashed }, data };
  });
  const listed = [...resources.flatMap((path) => resourcesAt(join(folder, path))), ...generated];
  const patched = patches
    .flatMap(({ path, target }) => documentsIn(join(folder, path)).map((patch) => ({ patch, target })))
    .reduce<readonly Resource[]>((all, { patch, target }) => withPatch(all, patch, target), listed);
  return patched
    .map((resource) => withConfigMaps(resource, names))
    .map((resource) =>
      resource.kind === "Namespace"
        ? resource
        : { ...resource, metadata: { ...resource.metadata, namespace } },
    );
}

/** Its files, the kustomization's own included, by path. */
export function filesOf(folder: string): readonly string[] {
  const {
    resources,
    configMapGenerator = [],
    patches = [],
  } = parse(readFileSync(join(folder, "kustomization.yaml"), "utf8")) as Kustomization;
  return [
    join(folder, "kustomization.yaml"),
    ...resources.flatMap((path) => {
      const found = join(folder, path);
      return existsSync(join(found, "kustomization.yaml")) ? filesOf(found) : [found];
    }),
    ...configMapGenerator.flatMap(({ files }) => files.map((file) => join(folder, file))),
    ...patches.map(({ path }) => join(folder, path)),
  ];
}

function documentsIn(path: string): readonly Resource[] {
  return readDocuments(readFileSync(path, "utf8"), dirname(path));
}

export function readDocuments(text: string, from: string): readonly Resource[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw new Error(`cannot read ${from}: ${document.errors.join(", ")}`);
    return document.toJS() as Resource;
  });
}

function resourcesAt(path: string): readonly Resource[] {
  return existsSync(join(path, "kustomization.yaml")) ? kustomize(path) : documentsIn(path);
}

/** Of all that is in it, as Kustomize makes it: its name is left empty. */
function hashOf(data: Readonly<Record<string, string>>): string {
  const sorted = Object.fromEntries(Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  // As Go writes JSON.
  const text = JSON.stringify({ data: sorted, kind: "ConfigMap", name: "" }).replaceAll(
    /[<>&]/g,
    (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`,
  );
  const letters: Readonly<Record<string, string>> = { "0": "g", "1": "h", "3": "k", a: "m", e: "t" };
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 10);
  return digest.replaceAll(/[013ae]/g, (digit) => letters[digit] ?? digit);
}

/** Volumes find the ConfigMap under the name that it has now. */
function withConfigMaps(resource: Resource, names: ReadonlyMap<string, string>): Resource {
  const renamed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(renamed);
    if (!isMapping(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => {
        if (key !== "configMap" || !isMapping(inner)) return [key, renamed(inner)];
        const name = String(inner["name"]);
        return [key, { ...inner, name: names.get(name) ?? name }];
      }),
    );
  };
  return { ...resource, ...(renamed(resource) as Mapping) };
}

function withPatch(
  resources: readonly Resource[],
  patch: Resource,
  target: Patch["target"],
): readonly Resource[] {
  const kind = target?.kind ?? patch.kind;
  const index = resources.findIndex((resource) => isSame(resource, { ...patch, kind }));
  const found = resources[index];
  if (found === undefined)
    throw new Error(`cannot patch ${patch.kind} ${patch.metadata.name}: there is none`);
  return resources.with(index, merged(found, patch) as Resource);
}

function isSame(one: Resource, other: Resource): boolean {
  return (
    one.apiVersion === other.apiVersion &&
    one.kind === other.kind &&
    one.metadata.name === other.metadata.name
  );
}

function merged(base: Mapping, patch: Mapping): Mapping {
  const changed = Object.entries(patch).map(([key, value]) => {
    const before = base[key];
    if (isMapping(before) && isMapping(value)) return [key, merged(before, value)] as const;
    const by = LIST_KEYS[key];
    if (typeof by !== "string" || !Array.isArray(before) || !Array.isArray(value))
      return [key, value] as const;
    return [key, mergedLists(before as Mapping[], value as Mapping[], by)] as const;
  });
  return { ...base, ...Object.fromEntries(changed) };
}

/** What the patch names comes first, as with Kustomize itself. */
function mergedLists(base: readonly Mapping[], patch: readonly Mapping[], by: string): readonly Mapping[] {
  const named = patch.map((entry) => merged(base.find((other) => other[by] === entry[by]) ?? {}, entry));
  const rest = base.filter((entry) => !patch.some((other) => other[by] === entry[by]));
  return [...named, ...rest];
}

function isMapping(value: unknown): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

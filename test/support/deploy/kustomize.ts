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
    readonly options: { readonly disableNameSuffixHash: true };
  }[];
  readonly patches?: readonly { readonly path: string }[];
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
  const generated = configMapGenerator.map(({ name, files }) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
    data: Object.fromEntries(files.map((file) => [basename(file), readFileSync(join(folder, file), "utf8")])),
  }));
  const listed = [...resources.flatMap((path) => resourcesAt(join(folder, path))), ...generated];
  const patched = patches
    .flatMap(({ path }) => documentsIn(join(folder, path)))
    .reduce<readonly Resource[]>(withPatch, listed);
  return patched.map((resource) =>
    resource.kind === "Namespace" ? resource : { ...resource, metadata: { ...resource.metadata, namespace } },
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

function withPatch(resources: readonly Resource[], patch: Resource): readonly Resource[] {
  const index = resources.findIndex((resource) => isSame(resource, patch));
  const target = resources[index];
  if (target === undefined)
    throw new Error(`cannot patch ${patch.kind} ${patch.metadata.name}: there is none`);
  return resources.with(index, merged(target, patch) as Resource);
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

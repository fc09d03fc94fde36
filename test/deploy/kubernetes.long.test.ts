import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { rules } from "../../src/commands/rules.ts";
import { VERSION } from "../../src/version.ts";
import { findBinary } from "../support/processes/binaries.ts";
import { schemaFault, unknownKeys } from "../support/deploy/kubernetes-schemas.ts";
import { type Resource, filesOf, kustomize, readDocuments } from "../support/deploy/kustomize.ts";
import { keysIn, loadShipped } from "./shipped-config.ts";
import { load } from "../../src/app/features/sections.ts";

const FOLDER = "deploy/kubernetes";
const KEYS = "/etc/pacewatch/keys";
const OVERLAYS = ["single", "fleet"] as const;
const WORKLOADS = { single: "Deployment", fleet: "StatefulSet" } as const;
const readme = readFileSync(join(FOLDER, "README.md"), "utf8");

type Container = {
  readonly image: string;
  readonly args: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: unknown;
  readonly resources: unknown;
  readonly startupProbe: unknown;
  readonly livenessProbe: unknown;
  readonly readinessProbe: unknown;
  readonly volumeMounts: readonly { readonly mountPath: string; readonly subPath?: string }[];
};

type Workload = {
  readonly replicas: number;
  readonly template: {
    readonly spec: {
      readonly terminationGracePeriodSeconds: number;
      readonly securityContext: unknown;
      readonly containers: readonly [Container];
    };
  };
};

function one(resources: readonly Resource[], kind: string): Resource {
  const found = resources.filter((resource) => resource.kind === kind);
  expect(found.map(({ metadata }) => metadata.name)).toHaveLength(1);
  return found[0] as Resource;
}

const configOf = (resources: readonly Resource[]): string =>
  (one(resources, "ConfigMap")["data"] as Readonly<Record<string, string>>)["pacewatch.yaml"] ?? "";

const sortedByName = (resources: readonly Resource[]): readonly Resource[] =>
  resources.toSorted((a, b) => `${a.kind} ${a.metadata.name}`.localeCompare(`${b.kind} ${b.metadata.name}`));

const KUBECTL = findBinary("kubectl");
if (KUBECTL === undefined) {
  process.stderr.write(
    "\n*** SKIPPED: cannot compare with the real Kustomize: there is no kubectl on the PATH\n\n",
  );
}

describe.each(OVERLAYS)("the overlay %s", (overlay) => {
  const folder = join(FOLDER, overlay);
  let resources: readonly Resource[] = [];
  let workload: Workload;

  beforeAll(() => {
    resources = kustomize(folder);
    workload = one(resources, WORKLOADS[overlay])["spec"] as Workload;
  });

  test("is what the schemas of Kubernetes and of the Prometheus Operator allow", () => {
    expect(resources.map(schemaFault).filter((fault) => fault !== undefined)).toEqual([]);
  });

  test("says nothing that the cluster would not know and forget", async () => {
    expect(await unknownKeys(resources)).toEqual([]);
  });

  test.skipIf(KUBECTL === undefined)("is built by the real Kustomize into the same resources", () => {
    const built = execFileSync(KUBECTL ?? "", ["kustomize", folder], { encoding: "utf8" });
    expect(sortedByName(readDocuments(built, folder))).toEqual(sortedByName(resources));
  });

  test("uses every file that lies in its folder", () => {
    const lying = ["base", overlay].flatMap((part) =>
      readdirSync(join(FOLDER, part)).map((name) => join(FOLDER, part, name)),
    );
    expect(filesOf(folder).toSorted()).toEqual(lying.toSorted());
  });

  test("runs an image of this version, never one that changes under its name", () => {
    expect(workload.template.spec.containers[0].image).toBe(`pacewatch:${VERSION}`);
  });

  test("has no rights: not root, no capabilities, a read-only root, no token of the cluster", () => {
    const pod = workload.template.spec;
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 1000,
      runAsGroup: 1000,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(pod.containers).toHaveLength(1);
    expect(pod.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(pod).toMatchObject({ automountServiceAccountToken: false, serviceAccountName: "pacewatch" });
    expect(one(resources, "ServiceAccount")).toMatchObject({ automountServiceAccountToken: false });
  });

  test("has room of its own, probes on the daemon's own paths, and longer to end than the daemon needs", () => {
    const { terminationGracePeriodSeconds, containers } = workload.template.spec;
    expect(terminationGracePeriodSeconds).toBeGreaterThan(10);
    const [container] = containers;
    expect(container).toMatchObject({
      resources: {
        requests: { cpu: expect.any(String), memory: expect.any(String) },
        limits: { memory: expect.any(String) },
      },
      startupProbe: { httpGet: { path: "/-/ready", port: "probes" } },
      livenessProbe: { httpGet: { path: "/-/healthy", port: "probes" } },
      readinessProbe: { httpGet: { path: "/-/ready", port: "probes" } },
    });
  });

  test("serves on the port that its probes, its service and its scraper are told", () => {
    const { ports } = workload.template.spec.containers[0];
    const portOf = (wanted: string): number | undefined =>
      ports.find(({ name }) => name === wanted)?.containerPort;
    const containerPort = portOf("http");
    expect(parse(configOf(resources))).toMatchObject({
      web: { listen: `0.0.0.0:${containerPort}`, probe_listen: `0.0.0.0:${portOf("probes")}` },
    });
    expect(one(resources, "Service")["spec"]).toMatchObject({
      ports: [{ name: "http", port: containerPort }],
    });
    expect(one(resources, "ServiceMonitor")["spec"]).toMatchObject({ endpoints: [{ port: "http" }] });
  });

  test("hands the config over as a folder, so that the process sees a change of it", () => {
    const { args, volumeMounts } = workload.template.spec.containers[0];
    expect(args).toEqual(["run", "--config", "/etc/pacewatch/config/pacewatch.yaml"]);
    expect(volumeMounts).toContainEqual({
      name: "config",
      mountPath: "/etc/pacewatch/config",
      readOnly: true,
    });
    expect(volumeMounts.filter(({ subPath }) => subPath !== undefined)).toEqual([]);
    const { name } = one(resources, "ConfigMap").metadata;
    expect(workload).toMatchObject({
      template: { spec: { volumes: expect.arrayContaining([{ name: "config", configMap: { name } }]) } },
    });
  });

  test("holds no secret, and its page tells how to give each key that its config reads", () => {
    expect(resources.filter(({ kind }) => kind === "Secret")).toEqual([]);
    const keys = keysIn(configOf(resources), KEYS);
    expect(keys).toEqual(expect.arrayContaining(["email", "ai-router"]));
    const told = keys.filter((key) => readme.includes(`--from-file=${key.replace("redis-", "")}=`));
    expect(told).toEqual(keys);
  });

  test("comes with the rules of its own config", async () => {
    let printed = "";
    const code = await rules({
      load,
      configPath: join(folder, "pacewatch.yaml"),
      environment: {},
      out: (text) => (printed += text),
      err: () => undefined,
    });
    expect(code).toBe(0);
    expect(one(resources, "PrometheusRule")["spec"]).toEqual(parse(printed));
  });

  test("watches what the config at the top watches, as often", () => {
    const [own, shipped] = [configOf(resources), readFileSync("config/pacewatch.yaml", "utf8")].map(
      (text) => parse(text) as { budgets: unknown; upstreams: { name: string; every: string }[] },
    );
    expect(own?.budgets).toEqual(shipped?.budgets);
    const watched = [own, shipped].map((config) => config?.upstreams.map(({ name, every }) => [name, every]));
    expect(watched[0]).toEqual(watched[1]);
  });
});

describe("one process without a shared ledger", () => {
  test("has its config under a name that stays: a change reloads it, and it keeps its leases", () => {
    const { name } = one(kustomize(join(FOLDER, "single")), "ConfigMap").metadata;
    expect(name).toBe("pacewatch-config");
  });

  test("never has a second one beside it, which would use the budget once more", () => {
    expect(one(kustomize(join(FOLDER, "single")), "Deployment")["spec"]).toMatchObject({
      replicas: 1,
      strategy: { type: "Recreate" },
    });
  });

  test("has a config that fits, with nothing to warn of, and a state on its volume", async () => {
    const loading = await loadShipped(join(FOLDER, "single/pacewatch.yaml"), KEYS);
    expect(loading).toMatchObject({
      kind: "loaded",
      warnings: [],
      config: { state: { path: "/data/pacewatch.db" } },
    });
    const { template } = one(kustomize(join(FOLDER, "single")), "Deployment")["spec"] as Workload;
    expect(template.spec.containers[0].volumeMounts).toContainEqual({ name: "state", mountPath: "/data" });
  });
});

describe("a fleet", () => {
  const resources = kustomize(join(FOLDER, "fleet"));

  test("has a config that fits, with nothing to warn of", async () => {
    const loading = await loadShipped(join(FOLDER, "fleet/pacewatch.yaml"), KEYS);
    expect(loading).toMatchObject({ kind: "loaded", warnings: [] });
  });

  test("has two processes, of which one is replaced at a time", () => {
    // A pod of a StatefulSet is started when its predecessor has ended.
    expect(one(resources, "StatefulSet")["spec"]).toMatchObject({
      replicas: 2,
      updateStrategy: { type: "RollingUpdate" },
    });
    expect(resources.filter(({ kind }) => kind === "Deployment")).toEqual([]);
    expect(one(resources, "PodDisruptionBudget")["spec"]).toMatchObject({ maxUnavailable: 1 });
  });

  test("has its config under a name that a change changes, so that all processes come to run the same", () => {
    expect(one(resources, "ConfigMap").metadata.name).toMatch(/^pacewatch-config-[a-z0-9]{10}$/);
  });

  test("has the alerts of a fleet, without which a fleet that polls nobody would page nobody", () => {
    const rule = JSON.stringify(one(resources, "PrometheusRule"));
    expect(rule).toContain('"alert":"PacewatchUnled"');
    expect(rule).toContain('"alert":"PacewatchLockAway"');
  });

  test("reads where its Redis is, and the password, from a Secret", () => {
    const { fleet } = parse(configOf(resources)) as { fleet: { lock: unknown; name: string } };
    expect(fleet).toMatchObject({
      lock: { redis: { url: "${PACEWATCH_REDIS_URL}", password: { file: `${KEYS}/redis-password` } } },
      name: "${HOSTNAME}",
    });
    const given = JSON.stringify(one(resources, "StatefulSet"));
    expect(given).toContain('{"name":"PACEWATCH_REDIS_URL","valueFrom":{"secretKeyRef":');
    expect(given).toContain('{"name":"HOSTNAME","valueFrom":{"fieldRef":');
    expect(given).toContain('{"key":"password","path":"redis-password"}');
  });
});

describe("a Redis for the lock", () => {
  const folder = join(FOLDER, "redis");
  const resources = kustomize(folder);

  test("is what the cluster allows and knows, and uses every file of its folder", async () => {
    expect(resources.map(schemaFault).filter((fault) => fault !== undefined)).toEqual([]);
    expect(await unknownKeys(resources)).toEqual([]);
    expect(filesOf(folder).toSorted()).toEqual(
      readdirSync(folder)
        .map((name) => join(folder, name))
        .toSorted(),
    );
  });

  test("is never two, keeps no lock that it could lose in part, and evicts nothing", () => {
    const { strategy, replicas, template } = one(resources, "Deployment")["spec"] as Workload & {
      readonly strategy: unknown;
    };
    expect({ strategy, replicas }).toEqual({ strategy: { type: "Recreate" }, replicas: 1 });
    const args = template.spec.containers[0].args.join(" ");
    expect(args).toContain("--save  --maxmemory-policy noeviction");
  });

  test("is where the network policy of the fleet leads to, and lets in nobody else", () => {
    const fleet = JSON.stringify(kustomize(join(FOLDER, "fleet")));
    expect(fleet).toContain('{"matchLabels":{"kubernetes.io/metadata.name":"redis"}}');
    expect(JSON.stringify(one(resources, "NetworkPolicy"))).toContain(
      '{"matchLabels":{"kubernetes.io/metadata.name":"pacewatch"}}',
    );
  });

  test("gives the user the rights that suffice", () => {
    const [, asked] = /ACL SETUSER pacewatch on >PASSWORD (.+)/.exec(readme) ?? [];
    const [, given] = /user pacewatch on >%s (.+)\\n'/.exec(readme) ?? [];
    expect(given).toBe(asked);
  });
});

describe("the judges of these manifests", () => {
  const base = kustomize(join(FOLDER, "single"));
  const broken = (kind: string, spec: Readonly<Record<string, unknown>>): Resource => {
    const resource = one(base, kind);
    return { ...resource, spec: { ...(resource["spec"] as object), ...spec } };
  };

  test("find a value of the wrong type", () => {
    expect(schemaFault(broken("Deployment", { replicas: "3" }))).toContain("replicas must be integer");
    expect(schemaFault(broken("ServiceMonitor", { endpoints: [{ interval: "soon" }] }))).toBeDefined();
  });

  test("find a key that nobody reads", async () => {
    const faults = await unknownKeys([
      broken("Deployment", { replica: 3 }),
      broken("NetworkPolicy", { egres: [] }),
    ]);
    expect(faults).toEqual([expect.stringContaining("'\"replica\"'"), expect.stringContaining("egres")]);
  });

  test("find a kind that its version of the API does not have", () => {
    expect(schemaFault({ ...one(base, "Deployment"), apiVersion: "policy/v1" })).toBe(
      "policy/v1 has no Deployment",
    );
  });
});

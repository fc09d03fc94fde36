import { readFile } from "node:fs/promises";

const ROOT = new URL("../../", import.meta.url);
/** What the manifest of Kubernetes asks for is enough for so many upstreams; the unit of systemd for all others. */
const UPSTREAMS_IN_A_POD = 1_000;

/** The memory limits that ship. */
export async function memoryLimitFor(upstreams: number): Promise<number> {
  const [pod, unit] = await Promise.all([
    readFile(new URL("deploy/kubernetes/base/deployment.yaml", ROOT), "utf8"),
    readFile(new URL("deploy/systemd/pacewatch.service", ROOT), "utf8"),
  ]);
  const limit =
    upstreams <= UPSTREAMS_IN_A_POD
      ? /limits: \{ memory: (\d+)Mi \}/.exec(pod)?.[1]
      : /^MemoryMax=(\d+)M$/m.exec(unit)?.[1];
  if (limit === undefined) throw new Error("cannot attack: the manifests must limit the memory, in MiB");
  return Number(limit) * 1_048_576;
}

/**
 * The bill of materials of what runs in production, as CycloneDX JSON: `node tools/sbom.ts > sbom.json`. It is npm's
 * own, mended in two places: npm names the whole after its directory, and its `--omit=dev` leaves out what production
 * and development both need.
 */

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import manifest from "../package.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const LARGEST_BYTES = 64 * 1024 * 1024;

type Component = {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
};

type Bill = {
  readonly bomFormat: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
};

export function billOfMaterials(): Bill {
  const bill: Bill = JSON.parse(
    execFileSync("npm", ["sbom", "--sbom-format=cyclonedx", "--sbom-type=application"], {
      cwd: ROOT,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      maxBuffer: LARGEST_BYTES,
    }),
  );
  const component = { ...bill.metadata.component, name: manifest.name };
  const components = bill.components.filter((candidate) => !isForDevelopment(candidate));
  const kept = new Set([component, ...components].map((part) => part["bom-ref"]));
  return {
    ...bill,
    metadata: { ...bill.metadata, component },
    components,
    dependencies: bill.dependencies
      .filter(({ ref }) => kept.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) })),
  };
}

function isForDevelopment({ properties = [] }: Component): boolean {
  return properties.some(({ name, value }) => name === "cdx:npm:package:development" && value === "true");
}

if (import.meta.main) console.log(JSON.stringify(billOfMaterials(), undefined, 2));

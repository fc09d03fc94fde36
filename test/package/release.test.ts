import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { checkRelease, entriesOf, notesOf } from "../../tools/release.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

const CHANGELOG = "# Changelog\n\n## [0.3.0] - 2026-12-01\n\n- New.\n\n## [0.2.0] - 2026-11-30\n\n- Old.\n";

describe("a release", () => {
  test("is made where the tag, the version and the changelog agree", () => {
    expect(() => checkRelease("v0.3.0", "0.3.0", CHANGELOG)).not.toThrow();
  });

  test.each([
    ["v0.3.1", "0.3.0", CHANGELOG, "package.json must agree, received 0.3.0"],
    ["v0.2.0", "0.2.0", CHANGELOG, "the changelog must begin with it, received 0.3.0"],
    [
      "v0.3.0",
      "0.3.0",
      CHANGELOG.replace("2026-12-01", "Unreleased"),
      'must say its date, received "Unreleased"',
    ],
  ])("%s of version %s is refused where they do not", (tag, version, changelog, why) => {
    expect(() => checkRelease(tag, version, changelog)).toThrow(why);
  });

  test("has the notes of its own entry", () => {
    expect(notesOf("v0.2.0", CHANGELOG)).toBe("- Old.\n");
    expect(() => notesOf("v0.1.0", CHANGELOG)).toThrow("must have an entry for v0.1.0");
  });
});

test("the version and the changelog are in step", () => {
  const { version } = JSON.parse(read("package.json")) as { version: string };
  expect(entriesOf(read("CHANGELOG.md"))[0]?.version).toBe(version);
  const lock = JSON.parse(read("package-lock.json")) as { version: string };
  expect(lock.version).toBe(version);
  expect(read("deploy/kubernetes/base/deployment.yaml")).toContain(`image: pacewatch:${version}\n`);
});

test.each(["ci.yml", "release.yml"])("%s pins each action by its commit, and names its version", (file) => {
  const uses = read(`.github/workflows/${file}`).match(/uses: .*/g) ?? [];
  expect(uses.length).toBeGreaterThan(0);
  expect(uses.filter((line) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual(
    [],
  );
});

const workflow = read(".github/workflows/release.yml");
const scriptOf = (id: string): string =>
  new RegExp(`- id: ${id}\\n +run: \\|\\n((?: {10}.*\\n)+)`).exec(workflow)?.[1] ?? "";

test("the image of a release has the name and the tag that the manifests and the pages say", () => {
  const folder = mkdtempSync(join(tmpdir(), "pacewatch-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const variables = join(folder, "env");
  const env = {
    PATH: "/usr/bin:/bin",
    GITHUB_ENV: variables,
    GITHUB_REPOSITORY: "Some-Owner/Pacewatch",
    GITHUB_REF_NAME: "v0.2.0",
  };
  expect(spawnSync("bash", ["-e", "-c", scriptOf("names")], { env }).status).toBe(0);
  expect(readFileSync(variables, "utf8")).toBe("IMAGE=ghcr.io/some-owner/pacewatch\nTAG=0.2.0\n");
  expect(workflow).toContain('tags: "${{ env.IMAGE }}:${{ env.TAG }}"');
  const { version } = JSON.parse(read("package.json")) as { version: string };
  const pages =
    read("docs/install.md") + read("deploy/kubernetes/README.md") + read("deploy/systemd/README.md");
  const told = [...pages.matchAll(/\/pacewatch[:-](\d[\w.]+?)(?=\.tgz|[\s`])/g)].map(([, tag]) => tag);
  expect(new Set(told)).toEqual(new Set([version]));
});

test("the notes of a release end with the name and the digest of its image", () => {
  const folder = mkdtempSync(join(tmpdir(), "pacewatch-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const env = {
    PATH: `${folder}:/usr/bin:/bin`,
    GITHUB_REF_NAME: "v0.2.0",
    IMAGE: "ghcr.io/some-owner/pacewatch",
    TAG: "0.2.0",
    DIGEST: "sha256:12",
  };
  writeFileSync(join(folder, "node"), "#!/bin/sh\necho '- New.'\n", { mode: 0o755 });
  expect(spawnSync("bash", ["-e", "-c", scriptOf("notes")], { cwd: folder, env }).status).toBe(0);
  expect(readFileSync(join(folder, "notes.md"), "utf8")).toBe(
    "- New.\n\nImage: `ghcr.io/some-owner/pacewatch:0.2.0@sha256:12`\n",
  );
});

test("the job without the programs of the gate skips their tests", () => {
  const ci = parse(read(".github/workflows/ci.yml")) as {
    jobs: Record<string, { steps: { env?: object }[] }>;
  };
  expect(ci.jobs["newer-node"]?.steps.at(-1)).toMatchObject({
    run: expect.stringContaining("npm test"),
    env: { CI: "" },
  });
});

describe("the base image of a release", () => {
  const script = scriptOf("base");

  /** The step, as GitHub runs it, where the registry says this. */
  function resolved(says: string): { readonly status: number | null; readonly output: string } {
    const folder = mkdtempSync(join(tmpdir(), "pacewatch-test-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const output = join(folder, "output");
    writeFileSync(output, "");
    writeFileSync(join(folder, "docker"), `#!/bin/sh\n${says}\n`, { mode: 0o755 });
    const env = { PATH: `${folder}:/usr/bin:/bin`, GITHUB_OUTPUT: output };
    const { status } = spawnSync("bash", ["-e", "-c", script], { env });
    return { status, output: readFileSync(output, "utf8") };
  }

  test("is its digest at that moment", () => {
    const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
    expect(resolved(`echo ${digest}`)).toEqual({ status: 0, output: `image=node:24-slim@${digest}\n` });
    expect(workflow).toContain("build-args: BASE=${{ steps.base.outputs.image }}");
    expect(workflow).toContain("org.opencontainers.image.base.name=${{ steps.base.outputs.image }}");
  });

  test.each(["exit 1", "true", "echo latest", "echo sha256:12"])(
    "without a digest there is no release: the registry says %s",
    (says) => {
      const { status, output } = resolved(says);
      expect([status, output]).toEqual([1, ""]);
    },
  );
});

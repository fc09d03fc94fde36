import { mkdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { load } from "../../../src/app/features/sections.ts";
import { formatFault } from "../../../src/config/read/fault.ts";
import { ConfigDirectory, withUpstream } from "../config-file.ts";

/** Writes a config with these lines before it, and says what is wrong, without the directory's own name. */
async function faultsWith(
  directory: ConfigDirectory,
  ...lines: readonly string[]
): Promise<readonly string[]> {
  const file = await directory.write([...lines, withUpstream()].join("\n"));
  const loading = await load(file, { environment: {} });
  if (loading.kind === "loaded") return ["loaded"];
  return loading.faults.map((fault) => formatFault(fault).replaceAll(`${directory.path}/`, ""));
}

test.each([
  ["garbage", "{{{ nothing of the kind", /^web\.yaml:1:\d+: /],
  ["an unknown key", "basic_auth: {}\n", /^web\.yaml:1:1: unknown key "basic_auth"/],
  ["nothing", "", /^web\.yaml:1:1: the web config is empty/],
  [
    "certificates that are not there",
    "tls_server_config: { cert_file: cert.pem, key_file: key.pem }\n",
    /^web\.yaml:1:\d+: "tls_server_config\.cert_file" must be a readable file: there is no such file: cert\.pem$/,
  ],
])("a web config with %s is refused before anything starts with it", async (_, content, sentence) => {
  await using directory = await ConfigDirectory.create();
  await directory.write(content, "web.yaml");
  const [first] = await faultsWith(directory, "web: { config_file: web.yaml }");
  expect(first).toMatch(sentence);
});

test("a web config that can be used is no fault, and of a structure it is not read", async () => {
  await using directory = await ConfigDirectory.create();
  await directory.write("{}\n", "web.yaml");
  expect(await faultsWith(directory, "web: { config_file: web.yaml }")).toEqual(["loaded"]);
  const file = await directory.write(`web: { config_file: gone.yaml }\n${withUpstream()}`);
  expect((await load(file, { environment: {}, resolve: "structure" })).kind).toBe("loaded");
});

test("a state file that can never be written is refused by the check", async () => {
  await using directory = await ConfigDirectory.create();
  await mkdir(directory.file("a-directory"));
  await directory.write("", "a-file");
  expect(await faultsWith(directory, "state: { path: a-directory }")).toEqual([
    'pacewatch.yaml:1:16: "state.path" must be a file that can be written: it is not a file: a-directory',
  ]);
  expect(await faultsWith(directory, "state: { path: a-file/state.db }")).toEqual([
    'pacewatch.yaml:1:16: "state.path" must be a file that can be written: part of its path is not a directory: a-file/state.db',
  ]);
  expect(await faultsWith(directory, "state: { path: not/yet/there/state.db }")).toEqual(["loaded"]);
});

import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { load } from "../../../src/app/features/sections.ts";
import type { Loading } from "../../../src/config/load.ts";
import { formatFault } from "../../../src/config/read/fault.ts";
import type { BodyAssertion } from "../../../src/features/expect/config.ts";
import { ConfigDirectory, withUpstream } from "../config-file.ts";

const NAMED = withUpstream("expect: { body: [{ path: /data, json_schema: contract.json }] }");

async function loadWith(
  schema: string,
  config = NAMED,
  resolve: "everything" | "structure" = "everything",
): Promise<Loading> {
  await using directory = await ConfigDirectory.create();
  await directory.write(schema, "contract.json");
  return await load(await directory.write(config), { environment: {}, resolve });
}

/** With the files' names, but not their folder. */
function sentences(loading: Loading): readonly string[] {
  const told = loading.kind === "refused" ? loading.faults : loading.warnings;
  return told.map((fault) => formatFault(fault).replaceAll(/\/tmp\/[^/]*\//g, ""));
}

function checksOf(loading: Loading): readonly BodyAssertion[] {
  if (loading.kind === "refused") throw new Error(sentences(loading).join("\n"));
  return loading.config.upstreams.flatMap(({ expect: { body = [] } }) => body);
}

test("a schema beside the config is read with it", async () => {
  const loading = await loadWith('{"type":"array","items":{"required":["id"]}}');
  expect(checksOf(loading)).toMatchObject([
    {
      jsonSchema: expect.stringMatching(/^\/.*\/contract\.json$/),
      contract: {
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        text: new TextEncoder().encode('{"type":"array","items":{"required":["id"]}}'),
      },
    },
  ]);
  expect(sentences(loading)).toEqual([]);
});

test.each([
  ["YAML", "type: object\nrequired: [id]\n"],
  ["JSON with tabs", '{\n\t"type": "object",\n\t"required": [\n\t\t"id"\n\t]\n}'],
])("it may be %s", async (_, schema) => {
  expect(checksOf(await loadWith(schema))).toMatchObject([
    { contract: { text: new TextEncoder().encode('{"type":"object","required":["id"]}') } },
  ]);
});

test("a thousand upstreams that name it share what was read", async () => {
  const entries = Array.from({ length: 1_000 }, (_, at) => `  - { name: u${at}, budget: b${at % 250} }`);
  const budgets = Array.from({ length: 250 }, (_, at) => `  b${at}: { rate: { requests: 600, per: 1m } }`);
  const config = [
    "defaults: { base_url: https://api.example.test, auth: { none: true }, every: 1m, expect: { body: [{ path: '', json_schema: contract.json }] } }",
    "budgets:",
    ...budgets,
    "upstreams:",
    ...entries,
  ].join("\n");
  const checks = checksOf(await loadWith("true", config));
  expect(checks).toHaveLength(1_000);
  expect(new Set(checks.map(({ contract }) => contract)).size).toBe(1);
});

describe("what is wrong in it is told with its place there", () => {
  test.each([
    [
      "each fault",
      '{\n  "type": "text",\n  "properties": {\n    "id": { "pattern": "(a" },\n    "at": { "minimun": 1 }\n  }\n}',
      [
        'contract.json:2:11: "type" must be "string" or "number" or "integer" or "boolean" or "array" or "object" or "null"',
        'contract.json:5:13: "properties.at.minimun" is not a keyword that is known here',
      ],
    ],
    [
      "an expression",
      '{\n  "properties": {\n    "id": { "pattern": "(a" }\n  }\n}',
      [
        'contract.json:3:24: "properties.id.pattern" must be an expression of JavaScript: Invalid regular expression: /(a/u: Unterminated group',
      ],
    ],
    [
      "no JSON",
      '{ "type": ',
      [
        "contract.json:1:11: cannot read YAML: a closing bracket, a comma, or a colon and a space is missing, or this line is not indented like the one above",
      ],
    ],
    ["empty", "", ["contract.json:1:1: the schema must be an object or true or false"]],
    [
      "binary",
      "\u0000",
      ["contract.json:1:1: the file must be UTF-8, received a control character (binary data, or UTF-16?)"],
    ],
    ["too deep", `${"[".repeat(40)}${"]".repeat(40)}`, ["contract.json:1:34: the file is nested too deeply"]],
  ])("%s", async (_, schema, expected) => {
    for (const resolve of ["everything", "structure"] as const) {
      expect(sentences(await loadWith(schema, NAMED, resolve))).toEqual(expected);
    }
  });

  test("`format` is no rule of the draft: that is said once", async () => {
    const loading = await loadWith(
      '{ "properties": { "at": { "format": "date-time" }, "by": { "format": "email" } } }',
    );
    expect(loading.kind).toBe("loaded");
    expect(sentences(loading)).toEqual([
      'contract.json:1:27: "properties.at.format" is a remark in draft 2020-12 and is not checked, here and elsewhere in this file',
    ]);
  });
});

test("what is no file, or too long, is refused at once", async () => {
  await using directory = await ConfigDirectory.create();
  execFileSync("mkfifo", [directory.file("pipe")]);
  await mkdir(directory.file("folder"));
  await writeFile(directory.file("long"), " ".repeat(1024 * 1024 + 1));
  const config = withUpstream(
    "expect:",
    "  body:",
    ...["pipe", "/dev/zero", "folder", "long", "nowhere"].map(
      (file) => `    - { path: /, json_schema: ${file} }`,
    ),
  );
  const path = await directory.write(config);
  const name = '"upstreams[0].expect.body';
  expect(sentences(await load(path, { environment: {} }))).toEqual([
    `pacewatch.yaml:13:35: ${name}[0].json_schema" must be a readable file: it is a pipe, not a file: pipe`,
    `pacewatch.yaml:14:35: ${name}[1].json_schema" must be a readable file: it is a device, not a file: /dev/zero`,
    `pacewatch.yaml:15:35: ${name}[2].json_schema" must be a readable file: it is a directory: folder`,
    `pacewatch.yaml:16:35: ${name}[3].json_schema" must be a readable file: it is longer than 1MiB: long`,
    `pacewatch.yaml:17:35: ${name}[4].json_schema" must be a readable file: there is no such file: nowhere`,
  ]);
  // Names and schedules can be told without it.
  const checks = checksOf(await load(path, { environment: {}, resolve: "structure" }));
  expect(checks.map(({ contract }) => contract)).toEqual(Array(5).fill(undefined));
});

test("its file is told as a part of the config, beside those that are only named", async () => {
  await using directory = await ConfigDirectory.create();
  const config = withUpstream(
    "tls: { ca_file: ca.pem }",
    "expect: { body: [{ path: /, json_schema: contract.json }, { path: /a, json_schema: contract.json }] }",
  );
  const { files, parts } = await load(await directory.write(config), { environment: {} });
  expect([...parts.keys()]).toEqual([directory.file("contract.json")]);
  expect([...files.keys()].toSorted()).toEqual([directory.file("ca.pem"), directory.file("contract.json")]);
});

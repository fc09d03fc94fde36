import { expect, test } from "vitest";
import { report, type ReportOptions } from "../../../src/features/report/command.ts";
import { ConfigDirectory, withUpstream } from "../../config/config-file.ts";
import { load } from "../../../src/app/features/sections.ts";

test.each<[Partial<ReportOptions>, string]>([
  [{ upstream: ["api", "nobody"] }, 'no upstream of the config is called "nobody"'],
  [{ format: "pdf" }, "format must be one of "],
  [
    { state: [] },
    'nothing is kept: the config has no "state.path", such as state: { path: pacewatch.db }, and --state names no file',
  ],
  [{ state: ["gone.db"] }, 'the state file "gone.db" cannot be read: there is no such file'],
  [{ month: "2026-13" }, "2026-13"],
])("a report of %j is refused with what is wrong with it, and nothing is written", async (changes, why) => {
  await using directory = await ConfigDirectory.create();
  let [out, err] = ["", ""];
  const code = await report({
    load,
    configPath: await directory.write(withUpstream("auth: { none: true }")),
    environment: {},
    upstream: [],
    format: "json",
    state: ["pacewatch.db"],
    wallNowMs: Date.UTC(2026, 10, 21),
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    ...changes,
  });
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toMatch(/^cannot report: /);
  expect(err).toContain(why);
});

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

/** Where a line is logged, or a sentence handed to whoever logs it. */
const CALL =
  /(?:\blog|#log)(?:\.(info|warn|error)|\[[^\]]*\])\(|this\.#write\((?=\s*(?:"(info|warn)"|to ))|(?:[oO]nWarning\??\.?|notes\.push|warnings\.push|this\.#tell)\(|const said = |JSON\.stringify\((?=\{ level: "(warn)")/g;

const TOKEN = /"(?:\\.|[^"\\])*"|`(?:\$\{(?:[^{}]|\{[^{}]*\})*\}|[^`])*`|[()[\]{};]/g;

/** The text until the bracket is closed that was opened before it, or until the statement ends. */
function untilClosed(text: string): string {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if ("([{".includes(token)) depth += 1;
    if (")]}".includes(token)) depth -= 1;
    if (depth < 0 || (depth === 0 && token === ";")) return text.slice(0, index);
  }
  return text;
}

/** Texts in quotes, those with values in them, and the names of texts that stand elsewhere in the file. */
const TEXTS = /"((?:\\.|[^"\\])*)"|`((?:\$\{(?:[^{}]|\{[^{}]*\})*\}|[^`])*)`|\b([A-Z]+_?[A-Z_]{3,})\b/g;
const VALUE = /\$\{(?:[^{}]|\{[^{}]*\})*\}/g;

function textsIn(code: string, source: string): readonly string[] {
  return [...code.matchAll(TEXTS)].flatMap(([, quoted, withValues = "", name]) => {
    if (quoted !== undefined) return [quoted];
    if (name === undefined) return [withValues.replaceAll(VALUE, "…")];
    const written = new RegExp(`const ${name} =\\s*(["\`][^;]*);`).exec(source)?.[1] ?? "";
    return textsIn(written, source);
  });
}

/** The other texts in a call are names and values of fields. */
const isSentence = (text: string): boolean => /\p{L} .*\p{L}|^(?:listening|stopped)$|^….*\p{L} /u.test(text);

// The command probe tells its own user.
const sources = globSync("src/**/*.ts", { cwd: ROOT, exclude: ["src/commands/probe.ts"] }).map((file) =>
  readFileSync(join(ROOT, file), "utf8").replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, ""),
);

/** Each line, with its level where that stands beside it. */
function logged(): ReadonlyMap<string, string> {
  return new Map(
    sources.flatMap((source) =>
      [...source.matchAll(CALL)].flatMap(({ 0: call, index, 1: level, 2: written, 3: lost }) =>
        textsIn(untilClosed(source.slice(index + call.length)), source)
          .filter(isSentence)
          .map((text) => [text, level ?? written ?? lost ?? ""] as const),
      ),
    ),
  );
}

/** What a field says, or a page of a poll. */
const NO_LINES = new Set(["the connection was lost", "cannot connect to Redis", "no access token: …"]);

/** A place in the config comes before its warnings. */
const WITHOUT_WORDS = "FILE:LINE:COLUMN: …";

const rows = [
  ...readFileSync(join(ROOT, "docs/log.md"), "utf8").matchAll(/^\| `(.+?)` +\| (`.+?`) +\|/gm),
].map(([, line = "", levels = ""]) => ({ line, levels }));

function fits(line: string, text: string): boolean {
  const parts = line.split("…").map((part) => RegExp.escape(part));
  return new RegExp(`^${parts.join(".+")}$`).test(text);
}

const isRowOf = (line: string, text: string): boolean => fits(line, text) || fits(text, line);

test("the page about the log has every line of info and above, with its level", () => {
  const lines = [...logged()].filter(([text]) => !NO_LINES.has(text));
  expect(lines.length).toBeGreaterThan(50);
  const missing = lines.filter(
    ([text, level]) => !rows.some(({ line, levels }) => isRowOf(line, text) && levels.includes(level)),
  );
  expect(missing).toEqual([]);
});

test("every line on the page about the log is one that the sources write", () => {
  const texts = [...logged().keys()];
  const unknown = rows
    .map(({ line }) => line)
    .filter((line) => !texts.some((text) => isRowOf(line, text)))
    .filter((line) => !sources.some((source) => source.includes(line.replace(/…$/, "$${"))));
  expect(unknown).toEqual([WITHOUT_WORDS]);
});

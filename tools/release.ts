/**
 * What a release asks of the repository: `node tools/release.ts check v0.2.0` refuses a tag that the version or the
 * changelog does not agree with; `node tools/release.ts notes v0.2.0` prints what the changelog says of it.
 */

import { readFile } from "node:fs/promises";
import manifest from "../package.json" with { type: "json" };

/** Throws where the tag, the version and the changelog disagree, or the date is not set. */
export function checkRelease(tag: string, version: string, changelog: string): void {
  if (tag !== `v${version}`)
    throw new Error(`cannot release ${tag}: package.json must agree, received ${version}`);
  const [newest] = entriesOf(changelog);
  if (newest?.version !== version) {
    throw new Error(`cannot release ${tag}: the changelog must begin with it, received ${newest?.version}`);
  }
  if (!/^\d{4}-\d\d-\d\d$/.test(newest.date)) {
    throw new Error(`cannot release ${tag}: the changelog must say its date, received "${newest.date}"`);
  }
}

export function notesOf(tag: string, changelog: string): string {
  const entry = entriesOf(changelog).find(({ version }) => tag === `v${version}`);
  if (entry === undefined) throw new Error(`cannot print notes: the changelog must have an entry for ${tag}`);
  return `${entry.text.trim()}\n`;
}

type Entry = { readonly version: string; readonly date: string; readonly text: string };

export function entriesOf(changelog: string): readonly Entry[] {
  const parts = changelog.split(/^## \[/m).slice(1);
  return parts.map((part) => {
    const [heading = "", ...lines] = part.split("\n");
    const [version = "", date = ""] = heading.split("] - ");
    return { version, date, text: lines.join("\n") };
  });
}

if (import.meta.main) {
  const [command = "", tag = ""] = process.argv.slice(2);
  const changelog = await readFile(new URL("../CHANGELOG.md", import.meta.url), "utf8");
  if (command === "notes") process.stdout.write(notesOf(tag, changelog));
  else checkRelease(tag, manifest.version, changelog);
}

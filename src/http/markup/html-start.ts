import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { escaped } from "./markup.ts";

const STYLE = `\n${readFileSync(new URL("page.css", import.meta.url), "utf8").replaceAll(/\n\s*/g, "\n")}`;

/** The content security policy allows this one style, by its hash. The hash covers every byte between the tags. */
export const PAGE_STYLE_HASH: string = `sha256-${createHash("sha256").update(STYLE).digest("base64")}`;

/** What stands before the body. It is a page of its own: nothing else has to be loaded. */
export function htmlStart(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<title>${escaped(title)} · Pacewatch</title>
<style>${STYLE}</style>
</head>
`;
}

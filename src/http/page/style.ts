import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const STYLE = `\n${readFileSync(new URL("page.css", import.meta.url), "utf8").replaceAll(/\n\s*/g, "\n")}`;

/** As it stands in the page: one space more, and its hash would be another. */
export const PAGE_STYLE: string = `<style>${STYLE}</style>`;

/** Lets this one style through the content security policy, and no other. */
export const PAGE_STYLE_HASH: string = `sha256-${createHash("sha256").update(STYLE).digest("base64")}`;

import { createHash } from "node:crypto";
import { BASE_STYLE } from "./page-style-base.ts";
import { PLOT_STYLE } from "./page-style-plots.ts";
import { TABLE_STYLE } from "./page-style-tables.ts";
import { UPSTREAM_STYLE } from "./page-style-upstreams.ts";

const STYLE = [BASE_STYLE, UPSTREAM_STYLE, PLOT_STYLE, TABLE_STYLE].join("").replaceAll(/\n\s*/g, "\n");

/** As it stands in the page: one space more, and its hash would be another. */
export const PAGE_STYLE: string = `<style>${STYLE}</style>`;

/** Lets this one style through the content security policy, and no other. */
export const PAGE_STYLE_HASH: string = `sha256-${createHash("sha256").update(STYLE).digest("base64")}`;

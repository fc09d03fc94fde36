import type { Behaviour } from "./behaviour.ts";
import { BODIES } from "./bodies.ts";
import { FRAMING } from "./framing.ts";
import { HEADS } from "./heads.ts";
import { MARKUP } from "./markup.ts";
import { OWN_FAULTS } from "./own-faults.ts";
import { REACHING } from "./reaching.ts";
import { REDIRECTS } from "./redirects.ts";
import { REFUSALS } from "./refusals.ts";
import { SILENCES } from "./silences.ts";
import { STATUSES } from "./statuses.ts";
import { TLS } from "./tls.ts";

export type Chapter = { readonly title: string; readonly behaviours: readonly Behaviour[] };

/** The fault matrix: everything that an upstream is known to do to its callers. */
export const CHAPTERS: readonly Chapter[] = [
  { title: "Names and connections", behaviours: REACHING },
  { title: "TLS", behaviours: TLS },
  { title: "Answers that do not end", behaviours: SILENCES },
  { title: "Status lines and headers", behaviours: HEADS },
  { title: "Lengths and chunks", behaviours: FRAMING },
  { title: "Bodies", behaviours: BODIES },
  { title: "Redirects", behaviours: REDIRECTS },
  { title: "Statuses", behaviours: STATUSES },
  { title: "Refusals", behaviours: REFUSALS },
  { title: "Texts that attack their reader", behaviours: MARKUP },
  { title: "Faults of our own", behaviours: OWN_FAULTS },
];

export const BEHAVIOURS: readonly Behaviour[] = CHAPTERS.flatMap(({ behaviours }) => behaviours);

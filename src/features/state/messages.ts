/** Messages between the main thread and the database thread: one request, one reply. */

import type { Refused } from "../../platform/opened.ts";
import type { ColumnsQuestion, RestoredUpstream } from "../history/state.ts";
import type { Note } from "../../kernel/text/notes.ts";
import type { Waiting } from "./buffer.ts";

export type Restored = {
  readonly upstreams: ReadonlyMap<string, RestoredUpstream>;
  readonly notes: readonly Note[];
  /** When a poll was written last. Wall clock; undefined if there is none. */
  readonly writtenAtMs: number | undefined;
};

export type StateBatch = Waiting & {
  /** Decides what is too old to keep: a wall clock that has just stepped does not. */
  readonly nowMs: number;
};

export type StateRequest =
  | { readonly kind: "open"; readonly nowMs: number }
  | { readonly kind: "write"; readonly batch: StateBatch }
  | { readonly kind: "columns"; readonly question: ColumnsQuestion }
  | { readonly kind: "close" };

export type Trouble = {
  readonly says: string;
  /** The next start will know that counts are missing, and counts quotas as used. */
  readonly isNoted: boolean;
};

export type OpenReply =
  | {
      readonly kind: "opened";
      readonly restored: Restored;
      /** Its notes are not all that there was. */
      readonly isLoss: boolean;
      /** A damaged file was moved aside then, with what it knew; undefined if none is there. */
      readonly lostAtMs: number | undefined;
      /** Why it cannot be written now; undefined if it can. */
      readonly trouble: Trouble | undefined;
      /** Each is one line of the log. */
      readonly notes: readonly string[];
    }
  | Refused;

export type WriteReply =
  | { readonly kind: "written"; readonly notes: readonly string[] }
  | { readonly kind: "failed"; readonly trouble: Trouble; readonly notes: readonly string[] };

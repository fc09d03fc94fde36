/** Messages between the main thread and the database thread: one request, one reply. */

import type { LearnedWindow, WindowRow } from "../../core/budget/learned-windows.ts";
import type { QuotaChanges } from "../../core/budget/quota-journal.ts";
import type { QuotaBuckets } from "../../core/budget/quota.ts";
import type { RestoredUpstream, StateRows } from "../../core/history/state.ts";

export type Restored = {
  readonly upstreams: ReadonlyMap<string, RestoredUpstream>;
  readonly quotas: ReadonlyMap<string, QuotaBuckets>;
  readonly windows: ReadonlyMap<string, readonly LearnedWindow[]>;
};

export type StateBatch = StateRows & {
  readonly quotas: QuotaChanges;
  /** All that is known, replacing what was; undefined if nothing changed. */
  readonly windows?: readonly WindowRow[] | undefined;
  /** Wall clock: decides what is too old to keep. */
  readonly nowMs: number;
};

export type StateRequest =
  | { readonly kind: "open"; readonly nowMs: number }
  | { readonly kind: "write"; readonly batch: StateBatch }
  | { readonly kind: "close" };

export type OpenReply =
  | {
      readonly kind: "opened";
      readonly restored: Restored;
      /** Why it cannot be written now; undefined if it can. */
      readonly trouble: string | undefined;
      /** For the log. */
      readonly notes: readonly string[];
    }
  | { readonly kind: "refused"; readonly message: string };

export type WriteReply =
  | { readonly kind: "written"; readonly notes: readonly string[] }
  | { readonly kind: "failed"; readonly trouble: string; readonly notes: readonly string[] };

export type StateReply = OpenReply | WriteReply | { readonly kind: "closed" };

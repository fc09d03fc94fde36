import type { Side } from "../../../kernel/exchange/reasons.ts";
import type { HealthState } from "../../../kernel/poll/health.ts";
import type { Alert } from "./alert.ts";

/** Whose fault it is, and by which evidence. Plain text, with words of others in it. */
export type Words = { readonly side: Side; readonly lines: readonly string[] };

/** What notifications are made of, as it is now. */
export type Outlook = {
  readonly nowMs: number;
  readonly alerts: readonly Alert[];
  /** Undefined where it is not in the config. */
  upstream(name: string):
    | {
        readonly state: HealthState;
        readonly labels: Readonly<Record<string, string>>;
        /** It failed, and the failure may be our own network's. */
        readonly isUnsure: boolean;
      }
    | undefined;
  /** How many are watched in all. */
  readonly of: number;
  /** Undefined where nobody polls it. */
  readonly words: (upstream: string) => Words | undefined;
  /** Of the page, without a slash at its end. */
  readonly pageUrl: string | undefined;
  /** Absent where it is the only one. */
  readonly vantage?: string | undefined;
};

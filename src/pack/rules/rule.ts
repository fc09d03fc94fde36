/** Prometheus rules as plain values, before they become YAML. */

export type Severity = "page" | "ticket";

export type Recording = {
  readonly record: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
};

export type Alert = {
  readonly alert: string;
  readonly severity: Severity;
  readonly expr: string;
  /** How long it must hold before it fires; at once where absent. */
  readonly holdsFor?: string;
  /** How long it goes on firing once it no longer holds. */
  readonly lastsFor?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly description: string;
};

export type RuleGroup = {
  readonly name: string;
  /** Where the rules are too dear to run at every evaluation. */
  readonly interval?: string;
  readonly rules: readonly (Recording | Alert)[];
};

export function isAlert(rule: Recording | Alert): rule is Alert {
  return "alert" in rule;
}

/** Where a Prometheus that was started with `--web.user-assets=docs` shows this project's own runbooks. */
export const SHIPPED_RUNBOOKS = "{{ $externalURL }}/user/runbooks/";

/** A folder's address, to which NAME.md can be appended. */
export function folderUrl(url: string): string {
  return url.endsWith("/") ? url : `${url}/`;
}

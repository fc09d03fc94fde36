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
  /** How long it must hold before it fires; at once if absent. */
  readonly holdsFor?: string;
  /** How long it keeps firing after it no longer holds. */
  readonly lastsFor?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly description: string;
};

export type RuleGroup = {
  readonly name: string;
  /** For rules that are too expensive for every evaluation. */
  readonly interval?: string;
  readonly rules: readonly (Recording | Alert)[];
};

export function isAlert(rule: Recording | Alert): rule is Alert {
  return "alert" in rule;
}

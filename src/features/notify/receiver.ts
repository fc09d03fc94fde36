import type { SecretSource, Upstream } from "../../kernel/config/config.ts";

/** What a receiver can be told of. All but `up` begin, and `up` is their end. */
export const RECEIVER_EVENTS = [
  "down",
  "up",
  "unauthorized",
  "blocked",
  "throttled",
  "credit_ending",
  "api_ending",
  "offline",
  "config_refused",
  "state_lost",
] as const;
export type ReceiverEvent = (typeof RECEIVER_EVENTS)[number];

export const RECEIVER_KINDS = [
  "webhook",
  "slack",
  "discord",
  "teams",
  "ntfy",
  "telegram",
  "pagerduty",
  "alertmanager",
] as const;
export type ReceiverKind = (typeof RECEIVER_KINDS)[number];

/** Who is told of what. */
export type Receiver = {
  readonly name: string;
  readonly kind: ReceiverKind;
  /** Undefined where the kind has a URL of its own. */
  readonly url: SecretSource | undefined;
  /** What proves that it is us: what that is depends on the kind. */
  readonly key: SecretSource | undefined;
  /** Of Telegram. */
  readonly chat: string | undefined;
  readonly on: readonly ReceiverEvent[];
  /** All upstreams where it is undefined, and else those with all of these labels, and one of these names if there are any. */
  readonly only:
    | { readonly upstreams: readonly string[]; readonly labels: Readonly<Record<string, string>> }
    | undefined;
  readonly afterMs: number;
  readonly groupWaitMs: number;
  readonly remindMs: number | undefined;
};

/** Whether a receiver is to be told of an upstream. */
export function isOneOf(
  { upstreams, labels }: NonNullable<Receiver["only"]>,
  upstream: Pick<Upstream, "name" | "labels">,
): boolean {
  const hasLabels = Object.entries(labels).every(([name, value]) => upstream.labels[name] === value);
  return hasLabels && (upstreams.length === 0 || upstreams.includes(upstream.name));
}

declare module "../../kernel/config/config.ts" {
  interface Config {
    /** Absent where nobody is told. */
    readonly notify?: readonly Receiver[] | undefined;
  }
}

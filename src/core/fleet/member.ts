import type { LiveSession } from "./board.ts";

/** A live replica, as it describes itself. */
export type FleetMember = MemberInfo & {
  readonly session: string;
  /** `fleet.name` of its config. */
  readonly name: string;
  readonly endsInMs: number;
  /** How long it is known to hear the board's answers; undefined: it does not, and so cannot claim anything. */
  readonly provenMs: number | undefined;
};

export type MemberInfo = {
  readonly url: string;
  /** So many upstreams. */
  readonly held: number;
  /** Hash of who draws on what: groups are only assigned among replicas that have the same ones. */
  readonly groups: string;
  /** Hash of all that replicas must agree on, limits included. */
  readonly config: string;
  /** When this config began to run, by the replica's wall clock. The newer one may ask for what an older one holds. */
  readonly configSinceMs: number;
  /** It is shutting down and takes no more upstreams. */
  readonly isLeaving: boolean;
  /** Names that block groups of its config. */
  readonly asks: readonly string[];
  /** How far its wall clock is ahead of Redis's. */
  readonly clockAheadMs: number;
};

/** A name has no `#`. The part after it tells the sessions of one replica apart. */
export function sessionOf(name: string, boot: string, count: number): string {
  return `${name}#${boot}.${count}`;
}

export function nameOf(session: string): string {
  const end = session.indexOf("#");
  return end < 0 ? session : session.slice(0, end);
}

export function infoText(info: MemberInfo): string {
  return JSON.stringify(info);
}

/** Another version may have written it: unreadable fields are left out, but the replica still counts. */
export function memberOf({ session, endsInMs, info, provenMs }: LiveSession): FleetMember {
  const { url, held, groups, config, configSinceMs, isLeaving, asks, clockAheadMs } = readObject(info);
  return {
    session,
    name: nameOf(session),
    endsInMs,
    provenMs,
    url: typeof url === "string" && /^https?:\/\//.test(url) ? url : "",
    held: numberIn(held) ?? 0,
    groups: typeof groups === "string" ? groups : "",
    config: typeof config === "string" ? config : "",
    configSinceMs: numberIn(configSinceMs) ?? 0,
    isLeaving: isLeaving === true,
    asks: Array.isArray(asks) ? asks.filter((name) => typeof name === "string") : [],
    clockAheadMs: numberIn(clockAheadMs) ?? 0,
  };
}

export function numberIn(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function readObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === "object" && read !== null ? { ...read } : {};
  } catch {
    return {};
  }
}

import type { LiveSession } from "./board.ts";

/** A live replica, as it describes itself. */
export type FleetMember = {
  readonly session: string;
  /** `fleet.name` of its config. */
  readonly name: string;
  readonly url: string;
  readonly held: number;
  /** Hash of its upstreams' names: upstreams are only assigned among replicas with the same ones. */
  readonly config: string;
  /** It is shutting down and takes no more upstreams. */
  readonly isLeaving: boolean;
  readonly endsInMs: number;
  /** It has not lived long enough to be given upstreams, unless all others are new too. */
  readonly trialEndsInMs: number;
};

export type MemberInfo = Pick<FleetMember, "url" | "held" | "config" | "isLeaving">;

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
export function memberOf({ session, endsInMs, info, trialEndsInMs }: LiveSession): FleetMember {
  const fields = readObject(info);
  const { url, held, config, isLeaving } = fields;
  return {
    session,
    name: nameOf(session),
    url: typeof url === "string" && /^https?:\/\//.test(url) ? url : "",
    held: typeof held === "number" ? held : 0,
    config: typeof config === "string" ? config : "",
    isLeaving: isLeaving === true,
    endsInMs,
    trialEndsInMs,
  };
}

export function readObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === "object" && read !== null ? { ...read } : {};
  } catch {
    return {};
  }
}

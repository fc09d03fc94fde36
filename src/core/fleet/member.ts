import { type Check, flag, listOf, number, optional, readText, Row, text } from "../exchange/rows.ts";
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
  return session.split("#", 1).join();
}

export function infoText(info: MemberInfo): string {
  return JSON.stringify(info);
}

/** The replica counts also where nothing that it says of itself can be read. */
export function memberOf({ session, endsInMs, info, provenMs }: LiveSession): FleetMember {
  const said = readText(info, infoIn) ?? infoIn(new Row({}));
  return { session, name: nameOf(session), endsInMs, provenMs, ...said };
}

function infoIn(info: Row): MemberInfo {
  const url = info.get("url", or(text, ""));
  return {
    url: /^https?:\/\//.test(url) ? url : "",
    held: info.get("held", or(number, 0)),
    groups: info.get("groups", or(text, "")),
    config: info.get("config", or(text, "")),
    configSinceMs: info.get("configSinceMs", or(number, 0)),
    isLeaving: info.get("isLeaving", or(flag, false)),
    asks: info.get("asks", or(listOf(text), [])),
    clockAheadMs: info.get("clockAheadMs", or(number, 0)),
  };
}

function or<Read>(check: Check<Read>, otherwise: Read): Check<Read> {
  return (said) => optional(check)(said) ?? otherwise;
}

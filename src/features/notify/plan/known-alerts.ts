import { type Alert, alertOf, type FiringAlert, foldFiring, NO_INCIDENT } from "./alert.ts";
import { NEWS_MS } from "./plan.ts";
import { isOpen, type Notified } from "./transitions.ts";
import type { Incident } from "../../history/incidents.ts";

/** Of one upstream: who has more of them in a day is told of these. */
const INCIDENTS_TOLD = 16;
const MOST_ENDED = 1_000;

/** The alerts of now and of the last day, and those whose end somebody still has to be told. */
export class KnownAlerts {
  readonly #isTold: (id: string) => boolean;
  /** By upstream; none of those that had none for a day. */
  readonly #incidents = new Map<string, readonly Alert[]>();
  #open: ReadonlyMap<string, Alert>;
  #ended: readonly Alert[] = [];

  /** `isTold`: a receiver knows of this alert, and not yet of its end. */
  constructor(before: readonly Notified[], isTold: (id: string) => boolean) {
    this.#isTold = isTold;
    this.#open = openOf(before);
  }

  get all(): readonly Alert[] {
    return [...[...this.#incidents.values()].flat(), ...this.#open.values(), ...this.#ended];
  }

  has(upstream: string): boolean {
    return this.#incidents.has(upstream);
  }

  /** `incidents`: the newest first. Undefined where it has left the config: what was open was seen last. */
  see(upstream: string, incidents: readonly Incident[] | undefined, nowMs: number): void {
    const before = this.#incidents.get(upstream) ?? [];
    this.#keep(
      upstream,
      incidents === undefined ? left(before, nowMs) : this.#seen(incidents, before, nowMs),
      nowMs,
    );
  }

  seeFiring(firing: readonly FiringAlert[], nowMs: number): void {
    const { open, ended } = foldFiring(this.#open, firing, nowMs);
    this.#open = open;
    this.#ended = [...this.#ended, ...ended].slice(-MOST_ENDED);
  }

  forget(nowMs: number): void {
    for (const [upstream, alerts] of this.#incidents) this.#keep(upstream, alerts, nowMs);
  }

  #seen(incidents: readonly Incident[], before: readonly Alert[], nowMs: number): readonly Alert[] {
    const known = new Map(before.map((alert) => [alert.id, alert]));
    return incidents.flatMap((incident, place) => {
      const alert = alertOf(incident, nowMs);
      if (alert === undefined || (place >= INCIDENTS_TOLD && !this.#isTold(alert.id))) return [];
      const former = known.get(alert.id);
      if (former === undefined || former.endedAtMs !== alert.endedAtMs) return [alert];
      return [{ ...alert, knownAtMs: former.knownAtMs }];
    });
  }

  #keep(upstream: string, alerts: readonly Alert[], nowMs: number): void {
    const news = alerts.filter(
      ({ id, endedAtMs = nowMs }) => endedAtMs > nowMs - NEWS_MS || this.#isTold(id),
    );
    if (news.length > 0) this.#incidents.set(upstream, news);
    else this.#incidents.delete(upstream);
  }
}

function left(alerts: readonly Alert[], nowMs: number): readonly Alert[] {
  return alerts.map((alert) =>
    alert.endedAtMs === undefined
      ? { ...alert, endedAtMs: nowMs, knownAtMs: nowMs, isUnwatched: true }
      : alert,
  );
}

/** What fired when an earlier process told of it is still the same alert. */
function openOf(notified: readonly Notified[]): ReadonlyMap<string, Alert> {
  const open = notified.filter((each) => isOpen(each) && each.subject !== each.upstream);
  return new Map(
    open.map(({ alert: id, subject, kind, upstream, startedAtMs }) => [
      subject,
      { ...NO_INCIDENT, id, subject, kind, upstream, startedAtMs, knownAtMs: startedAtMs },
    ]),
  );
}

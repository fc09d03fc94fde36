import type { Headers, PhaseTimesMs } from "../../src/core/exchange/exchange.ts";
import { foldHealth, UNKNOWN_HEALTH, type Health, type HealthEvent } from "../../src/core/poll/health.ts";
import { hash32 } from "../../src/core/schedule/hash.ts";
import { History } from "../../src/core/history/history.ts";
import type { PollOutcome, SkipCause } from "../../src/core/exchange/outcome.ts";
import type { Incident, StatusSnapshot, UpstreamStatus } from "../../src/core/status/status.ts";
import { seededRandom, within, type Span } from "../../src/simulator/randomness.ts";
import { samplePoll } from "./metrics-samples.ts";

/** Snapshots that grew as real ones do: polls are told to a real history, and their health is really folded. */

export const SCENE_NOW_MS: number = Date.UTC(2026, 10, 21, 12, 17, 4);

/** Polls in a row that met the same. */
export type Chapter = {
  readonly polls: number;
  readonly outcome?: PollOutcome;
  readonly latency?: Span;
  readonly status?: number;
  readonly detail?: string;
  readonly excerpt?: string;
  readonly headers?: Headers;
  readonly phasesMs?: PhaseTimesMs;
};

export type Story = {
  readonly name: string;
  readonly everyMs: number;
  readonly chapters: readonly Chapter[];
  /** There is a month before the first chapter, of whose polls one in so many failed. */
  readonly monthFailedOneIn?: number;
  /** After the last poll. */
  readonly skipped?: readonly { readonly cause: SkipCause; readonly count: number }[];
};

export type Told = { readonly upstream: UpstreamStatus; readonly incidents: readonly Incident[] };

const DAY_MS = 86_400_000;
const MONTH_MS = 30 * DAY_MS;
const STARTED_AT_MS = SCENE_NOW_MS - 31 * DAY_MS;
const MONTH_POLLED_EVERY_MS = 120_000;
const DEGRADED_ABOVE_MS = 2_000;
const USUAL: Span = { minMs: 70, maxMs: 140 };
const MONTH_FAILURE: Chapter = {
  polls: 1,
  outcome: { kind: "failed", reason: "server_error" },
  status: 502,
  detail: "answered 502",
};

class Teller {
  readonly history: History;
  polls = 0;
  health: Health = UNKNOWN_HEALTH;
  readonly random: () => number;

  constructor(name: string) {
    this.history = new History(name, STARTED_AT_MS);
    this.random = seededRandom(hash32(name));
  }

  poll(atMs: number, chapter: Chapter): void {
    const outcome = chapter.outcome ?? { kind: "ok" };
    const durationMs = within(chapter.latency ?? USUAL, this.random);
    const degraded = outcome.kind === "ok" && durationMs > DEGRADED_ABOVE_MS;
    const status = chapter.status ?? (outcome.kind === "ok" ? 200 : undefined);
    this.polls += 1;
    this.history.record({
      kind: "polled",
      poll: samplePoll({
        id: `poll-${this.polls}`,
        sentAtMs: atMs,
        endedAtMs: atMs + durationMs,
        durationMs,
        phasesMs: chapter.phasesMs ?? phasesOf(durationMs, this.random),
        outcome,
        degraded,
        detail: chapter.detail ?? "answered 200 with 482 B",
        head: status === undefined ? undefined : { status, reasonPhrase: "", headers: chapter.headers ?? [] },
        excerpt: chapter.excerpt,
      }),
    });
    this.fold({ kind: "polled", outcome, isDegraded: degraded, isConfirmed: false }, atMs + durationMs);
  }

  skip(cause: SkipCause, count: number, atMs: number): void {
    this.history.record({ kind: "slots_skipped", cause, count, hadWaited: false });
    this.fold({ kind: "skipped", cause, count }, atMs);
  }

  fold(event: HealthEvent, atMs: number): void {
    const from = this.health.state;
    this.health = foldHealth(this.health, event, 1).health;
    if (this.health.state !== from)
      this.history.record({ kind: "health_changed", from, to: this.health.state, atMs });
  }
}

/** The status of one upstream at the end of its story, and the incidents on the way. */
export function tell(story: Story, changes: Partial<UpstreamStatus> = {}): Told {
  const { name, everyMs, chapters, monthFailedOneIn, skipped = [] } = story;
  const skippedCount = skipped.reduce((sum, { count }) => sum + count, 0);
  const slots = chapters.reduce((sum, { polls }) => sum + polls, 0) + skippedCount;
  const firstAtMs = SCENE_NOW_MS - (slots - 0.7) * everyMs;
  const teller = new Teller(name);
  if (monthFailedOneIn !== undefined) {
    for (let atMs = firstAtMs - MONTH_MS; atMs < firstAtMs - everyMs; atMs += MONTH_POLLED_EVERY_MS)
      teller.poll(atMs, teller.random() * monthFailedOneIn < 1 ? MONTH_FAILURE : { polls: 1 });
  }
  let atMs = firstAtMs;
  for (const chapter of chapters) {
    for (let turn = 0; turn < chapter.polls; turn += 1, atMs += everyMs) teller.poll(atMs, chapter);
  }
  for (const { cause, count } of skipped) teller.skip(cause, count, SCENE_NOW_MS - 0.7 * everyMs);

  const { history, health, polls } = teller;
  const upstream: UpstreamStatus = {
    name,
    url: `https://${name}.example/v1/resources`,
    budget: name,
    labels: { team: "growth" },
    schedule: { source: `every ${everyMs / 1_000}s`, longestGapMs: everyMs },
    objective: { availability: 0.995, latencyMs: 1_000 },
    degradedAboveMs: DEGRADED_ABOVE_MS,
    health: { state: health.state, sinceMs: history.sinceMs, up: health.isUp },
    pausedUntilMs: 0,
    nextSlotAtMs: SCENE_NOW_MS + 0.3 * everyMs,
    certificateExpiresAtMs: SCENE_NOW_MS + 82 * DAY_MS,
    counts: { slots: polls + skippedCount, polls, inFlight: 0, waiting: 0, skipped: skippedCount },
    skips: skipped,
    skippedSincePoll: history.skippedSincePoll,
    latency: history.latency,
    availability: history.availability(SCENE_NOW_MS),
    lastPolls: history.lastPolls,
    lastFailures: history.lastFailures,
    ...changes,
  };
  return { upstream, incidents: history.incidents };
}

function phasesOf(durationMs: number, random: () => number): PhaseTimesMs {
  const [dns, connect, tls, transfer] = [1 + random() * 2, 9 + random() * 4, 14 + random() * 6, 1 + random()];
  return { dns, connect, tls, wait: Math.max(1, durationMs - dns - connect - tls - transfer), transfer };
}

/** The budgets are those of the two services that come configured. */
export function snapshotOf(told: readonly Told[], changes: Partial<StatusSnapshot> = {}): StatusSnapshot {
  return {
    version: "0.1.0",
    startedAtMs: STARTED_AT_MS,
    nowMs: SCENE_NOW_MS,
    ready: true,
    stateStoreUp: true,
    lastReload: { successful: true, lastSuccessAtMs: STARTED_AT_MS },
    upstreams: told.map(({ upstream }) => upstream),
    budgets: [
      {
        name: "email",
        share: 0.2,
        rates: [{ label: "1m", limit: 1_000, cap: 200, leases: 13 }],
        advertised: { limit: 1_000, remaining: 641 },
        pausedUntilMs: 0,
        quota: undefined,
      },
      {
        name: "ai-router",
        share: 0.2,
        rates: [{ label: "1m", limit: 60, cap: 12, leases: 5 }],
        advertised: { limit: 60, remaining: 41 },
        pausedUntilMs: 0,
        quota: { limit: 400_000, perMs: MONTH_MS, used: 96_512, forecast: 172_800 },
      },
    ],
    incidents: told.flatMap(({ incidents }) => incidents).toSorted((a, b) => b.startedAtMs - a.startedAtMs),
    ...changes,
  };
}

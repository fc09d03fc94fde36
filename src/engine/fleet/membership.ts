import { PUBLISHED_KEPT_MS, type BeatAnswer } from "../../core/fleet/board.ts";
import { infoText, type FleetMember } from "../../core/fleet/member.ts";
import { BoardView } from "../../core/fleet/board-view.ts";
import { hash32 } from "../../core/schedule/hash.ts";
import type { Moment } from "../../core/time/moment.ts";
import type { SessionValidity } from "../../core/fleet/session-validity.ts";
import { BoardCalls } from "./board-calls.ts";
import { Ownership } from "./ownership.ts";
import type { MembershipParts } from "./parts.ts";

const MOST_CHANGES = 2_000;
/** Read one after the other, which are far more changes than upstreams. Then the rest waits for the usual beat. */
const MOST_PAGES = 20;
const MOST_PUBLISHED = 1_000;
/** Long before the board forgets it. */
const PUBLISH_AGAIN_MS = PUBLISHED_KEPT_MS / 4;
const BEATS_PER_TTL = 5;
/** The beat comes this long after a session has ended, or the board has opened. */
const AFTER_MS = 20;

/** This replica in its fleet: sends heartbeats, knows the other members, and checks its session by its own clock. */
export class FleetMembership {
  readonly #parts: MembershipParts;
  readonly #validity: SessionValidity;
  readonly #calls: BoardCalls;
  readonly #view = new BoardView();
  readonly #ownership: Ownership;
  readonly #published = new Map<string, { readonly text: string; readonly atMs: number }>();
  readonly #ended = new AbortController();
  #upstreams: readonly string[] = [];
  #config = "";
  #mustRetake = false;
  #isLeaving = false;
  /** Of changes, read since all of them were known. */
  #pages = 0;
  #nextBeatInMs = 0;
  #wake = new AbortController();
  #guardWake = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(parts: MembershipParts) {
    this.#parts = parts;
    this.#validity = parts.holdings.session;
    this.#calls = new BoardCalls(parts.board, this.#validity, parts.clock);
    this.#ownership = new Ownership(parts, this.#calls, this.#view);
  }

  get session(): string {
    return this.#validity.session;
  }

  get members(): readonly FleetMember[] {
    return this.#view.members;
  }

  get heldCount(): number {
    return this.#parts.isSharded ? this.#parts.holdings.claimed.size : this.#upstreams.length;
  }

  get moves(): { readonly gained: number; readonly lost: number } {
    return this.#ownership.moves;
  }

  holderOf(upstream: string): string | undefined {
    return this.#view.holderOf(upstream);
  }

  /** Of the config, whoever polls them. */
  get upstreamCount(): number {
    return this.#upstreams.length;
  }

  /** All upstreams of the current config. */
  setUpstreams(upstreams: readonly string[]): void {
    this.#upstreams = upstreams;
    this.#ownership.know(upstreams);
    this.#config = hash32(upstreams.toSorted().join("\n")).toString(36);
    this.#ownership.reassign();
    this.beatSoon();
  }

  start(): void {
    this.#running = Promise.all([this.#keepBeating(), this.#keepGuard()]).catch(this.#parts.onBug);
  }

  beatSoon(): void {
    this.#wake.abort();
  }

  /** Claims nothing more. Keeps what it holds until `close`. */
  leave(): void {
    this.#isLeaving = true;
    this.beatSoon();
  }

  /** To be called after the last poll: releases everything at once. */
  async close(): Promise<void> {
    this.#ended.abort();
    this.#wake.abort();
    this.#guardWake.abort();
    await this.#running;
    if (this.#validity.hasJoined) await this.#ownership.end();
  }

  async #keepBeating(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      this.#nextBeatInMs = this.#parts.ttlMs / BEATS_PER_TTL;
      try {
        await this.#round();
      } catch (error) {
        this.#parts.onBug(error);
      }
      if (!signal.aborted) await this.#parts.clock.sleep(this.#nextBeatInMs, this.#wake.signal);
    }
  }

  /** Ends the polls of an expired session by our own clock, so that it works without Redis. */
  async #keepGuard(): Promise<void> {
    const { clock } = this.#parts;
    while (!this.#ended.signal.aborted) {
      try {
        this.#loseIfExpired();
      } catch (error) {
        this.#parts.onBug(error);
      }
      this.#guardWake = new AbortController();
      const leftMs = this.#parts.holdings.isSessionValid
        ? this.#validity.validUntilMs - clock.now()
        : Infinity;
      await clock.sleep(leftMs, this.#guardWake.signal);
    }
  }

  #loseIfExpired(): void {
    const { claimed, isSessionValid } = this.#parts.holdings;
    const { size } = claimed;
    if (size === 0 || isSessionValid) return;
    this.#parts.log.warn({ upstreams: size }, `fleet session lost, released ${size} upstreams`);
    this.#mustRetake = false;
    this.#ownership.lose([...claimed]);
  }

  async #round(): Promise<void> {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      this.#loseIfExpired();
      const { answer, sentAt } = await this.#beat();
      if (answer.kind === "beat") return await this.#continueSession(answer, sentAt);
      if (answer.kind !== "lost") return;
      this.#parts.log.warn({ session: this.session }, "fleet session unknown to Redis, joining again");
      this.#validity.begin();
      this.#mustRetake = this.#parts.holdings.claimed.size > 0;
    }
  }

  #beat(): Promise<{ readonly answer: BeatAnswer; readonly sentAt: Moment }> {
    return this.#calls.beat({
      joins: !this.#validity.hasJoined,
      info: infoText({
        url: this.#parts.url(),
        held: this.heldCount,
        config: this.#config,
        isLeaving: this.#isLeaving,
      }),
      epoch: this.#view.epoch,
      version: this.#view.version,
      mostChanges: MOST_CHANGES,
    });
  }

  async #continueSession(answer: Extract<BeatAnswer, { kind: "beat" }>, sentAt: Moment): Promise<void> {
    const isNew = !this.#validity.hasJoined;
    this.#validity.joined(this.#parts.clock.now());
    if (this.#view.update(answer)) this.#ownership.reassign();
    if (isNew) this.#tellTrial();
    if (this.#mustRetake) {
      if (!(await this.#ownership.retake())) return;
      this.#mustRetake = false;
    }
    this.#validity.renew(sentAt);
    this.#guardWake.abort();
    // Nothing can be assigned until all changes are known.
    this.#pages = answer.hasMore ? this.#pages + 1 : 0;
    if (answer.hasMore) return this.#readOn();
    const { isSharded } = this.#parts;
    if (isSharded && !this.#isLeaving) await this.#ownership.act(this.#upstreams, this.#config);
    this.#planNextBeat(answer.opensInMs);
    await this.#publish();
  }

  /** Redis decides how long this goes on: it must not keep this replica busy. */
  #readOn(): void {
    if (this.#pages % MOST_PAGES !== 0) this.beatSoon();
  }

  #tellTrial(): void {
    const trialEndsInMs = this.#view.trialOf(this.session);
    if (!this.#parts.isSharded || trialEndsInMs === 0) return;
    this.#parts.log.info(
      { trialEndsInMs },
      "joined the fleet on trial: takes no upstreams until the trial ends",
    );
  }

  /** Sooner than usual if there may be something to claim. */
  #planNextBeat(opensInMs: number): void {
    const others = this.#view.members.filter(({ session }) => session !== this.session);
    const moments = others.map(({ endsInMs }) => endsInMs);
    if (this.#ownership.isPending && opensInMs > 0) moments.push(opensInMs);
    for (const { trialEndsInMs } of this.#view.members) if (trialEndsInMs > 0) moments.push(trialEndsInMs);
    this.#nextBeatInMs = Math.min(this.#nextBeatInMs, ...moments.map((moment) => moment + AFTER_MS));
  }

  async #publish(): Promise<void> {
    const statuses = this.#parts.events.statuses();
    for (const key of this.#published.keys()) if (!statuses.has(key)) this.#published.delete(key);
    const atMs = this.#parts.clock.now();
    const isPublished = (key: string, text: string): boolean => {
      const last = this.#published.get(key);
      return last !== undefined && last.text === text && atMs < last.atMs + PUBLISH_AGAIN_MS;
    };
    const changed = [...statuses].filter(([key, text]) => !isPublished(key, text)).slice(0, MOST_PUBLISHED);
    if (changed.length === 0 || !(await this.#parts.board.publish(new Map(changed)))) return;
    for (const [key, text] of changed) this.#published.set(key, { text, atMs });
  }
}

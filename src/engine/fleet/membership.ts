import { counted } from "../../core/exchange/json-value.ts";
import type { Beat } from "../../core/fleet/board.ts";
import { BoardView } from "../../core/fleet/board-view.ts";
import type { FleetWait } from "../../core/fleet/fleet-status.ts";
import { infoText, type MemberInfo } from "../../core/fleet/member.ts";
import { hash32 } from "../../core/schedule/hash.ts";
import { type Moment, momentOf } from "../../core/time/moment.ts";
import { Ownership, type OwnConfig } from "./ownership.ts";
import { type FleetConfig, type MembershipParts, NO_CONFIG } from "./parts.ts";
import { Tellings } from "./tellings.ts";

const BEATS_PER_TTL = 5;
/** Of the time between two beats: or a fault that comes as regularly would hit each of them. */
const JITTER = 0.2;
/** A beat that failed is sent again so soon, so many times. */
const AGAIN_AFTER_MS = 50;
const MOST_AGAIN = 5;
/** The beat comes this long after a session has ended, or a replica has lived long enough. */
const AFTER_MS = 20;
/** A wall clock that is further from the others' misleads whoever reads its times. */
const TOLD_CLOCK_MS = 5_000;

/** This replica in its fleet: sends heartbeats, knows the other members, and checks its session by its own clock. */
export class FleetMembership {
  readonly #parts: MembershipParts;
  readonly view: BoardView = new BoardView();
  readonly ownership: Ownership;
  readonly tellings: Tellings;
  readonly #ended = new AbortController();
  config: FleetConfig = NO_CONFIG;
  #own: OwnConfig = { groups: "", configSinceMs: 0 };
  #clockAheadMs = 0;
  /** What of the fleet keeps this replica from polling; undefined where nothing does. */
  waitsFor: FleetWait | undefined;
  #differs = { config: false, clock: false };
  #mustRetake = false;
  #isLeaving = false;
  #failures = 0;
  #nextBeatInMs = 0;
  #wake = new AbortController();
  #guarding = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(parts: MembershipParts) {
    this.#parts = parts;
    this.ownership = new Ownership(parts, this.view);
    this.tellings = new Tellings(parts);
  }

  get heldCount(): number {
    return this.#parts.isSharded ? this.ownership.heldUpstreams.length : this.config.namesOf.size;
  }

  /**
   * For what one replica alone should do. Each answers by what it knows already: after a death nobody does it for one
   * TTL.
   */
  get isEldest(): boolean {
    return this.#parts.holdings.isSessionValid && this.view.eldest === this.#parts.holdings.session;
  }

  /** How far this replica's wall clock is ahead of most others'. */
  get clockAheadMs(): number {
    return this.#clockAheadMs - this.view.usualClockMs;
  }

  setConfig(config: FleetConfig): void {
    const isSame = config.digest === this.config.digest;
    this.#own = {
      groups: hashOf(config.groups.map(({ names }) => names.join("\n")).join("\n\n")),
      configSinceMs: isSame ? this.#own.configSinceMs : this.#parts.clock.wallNow(),
    };
    this.config = config;
    this.ownership.know(config);
    this.beatSoon();
  }

  start(): void {
    this.#running = this.#keepBeating();
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
    await this.#running;
    this.#guarding.abort();
    if (!this.#parts.holdings.hasJoined) return;
    await this.tellings.tellChanges();
    await this.ownership.end();
  }

  async #keepBeating(): Promise<void> {
    const { signal } = this.#ended;
    const { clock, ttlMs, random, onBug } = this.#parts;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      this.#nextBeatInMs = (ttlMs / BEATS_PER_TTL) * (1 - JITTER * random());
      try {
        await this.#round();
      } catch (error) {
        onBug(error);
      }
      if (!signal.aborted) await clock.sleep(this.#nextBeatInMs, this.#wake.signal);
    }
  }

  /** Ends the polls of an expired session by our own clock, so that it works without Redis. */
  async #guard(): Promise<void> {
    const { clock, holdings } = this.#parts;
    this.#guarding.abort();
    this.#guarding = new AbortController();
    const { signal } = this.#guarding;
    while (holdings.isSessionValid && !signal.aborted)
      await clock.sleep(holdings.validUntilMs - clock.now(), signal);
    this.#loseIfExpired();
  }

  #loseIfExpired(): void {
    const { holdings, log } = this.#parts;
    if (holdings.claimed.size === 0 || holdings.isSessionValid) return;
    const upstreams = this.ownership.heldUpstreams.length;
    log.warn({ upstreams }, `fleet session lost, released ${counted(upstreams, "upstream")}`);
    this.ownership.loseAll();
  }

  async #round(): Promise<void> {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      this.#loseIfExpired();
      const sentAt = momentOf(this.#parts.clock);
      const answer = await this.#beat(sentAt);
      if (answer === undefined) {
        this.#failures += 1;
        if (this.#failures <= MOST_AGAIN) this.#nextBeatInMs = AGAIN_AFTER_MS;
        return;
      }
      this.#failures = 0;
      if (answer !== "lost") return await this.#continueSession(answer, sentAt);
      this.#beginAnew();
    }
  }

  #beginAnew(): void {
    const { log, holdings } = this.#parts;
    log.info({ session: holdings.session }, "fleet session ended, joining again");
    holdings.begin();
    this.ownership.isDoubtful = false;
    this.#mustRetake = holdings.claimed.size > 0;
  }

  #beat(sentAt: Moment): Promise<Beat | "lost" | undefined> {
    const { board, ttlMs, budgets, holdings } = this.#parts;
    return board.beat({
      session: holdings.session,
      ttlMs,
      answeredAgoMs: holdings.answeredAgoMs(sentAt),
      info: infoText(this.#info),
      version: this.view.version,
      wants: budgets.wants(),
    });
  }

  get #info(): MemberInfo {
    return {
      url: this.#parts.url(),
      held: this.heldCount,
      ...this.#own,
      config: this.config.digest,
      isLeaving: this.#isLeaving,
      asks: this.ownership.asks,
      clockAheadMs: Math.round(this.#clockAheadMs),
    };
  }

  async #continueSession(answer: Beat, sentAt: Moment): Promise<void> {
    const { clock, isSharded, budgets, holdings } = this.#parts;
    const isNew = !holdings.hasJoined;
    const now = momentOf(clock);
    holdings.answered(sentAt);
    this.#clockAheadMs = (sentAt.wallMs + now.wallMs) / 2 - answer.wallMs;
    this.view.update(answer);
    if (this.#mustRetake) {
      if (!(await this.ownership.retake())) return;
      this.#mustRetake = false;
    }
    holdings.renew(sentAt);
    void this.#guard().catch(this.#parts.onBug);
    if (answer.granted !== undefined) budgets.granted(answer.granted, sentAt);
    this.tellings.heard(answer, sentAt);
    // The board learns from the next beat that its answers arrive here.
    if (isNew) this.beatSoon();
    else if (isSharded && !this.#isLeaving) await this.#act();
    this.#planNextBeat();
    this.#tellDifferences(answer);
    await Promise.all([budgets.hearCounts(), this.tellings.tellChanges()]);
  }

  async #act(): Promise<void> {
    await this.ownership.act(this.#own);
    if (this.ownership.isDoubtful) {
      this.#beginAnew();
      this.beatSoon();
    }
  }

  /** Sooner than usual if there may be something to claim. A new board has opened by the time that anybody is proven. */
  #planNextBeat(): void {
    const { ttlMs, holdings } = this.#parts;
    const others = this.view.members.filter(({ session }) => session !== holdings.session);
    const moments = others.map(({ endsInMs }) => endsInMs);
    for (const { provenMs } of this.view.members)
      if (provenMs !== undefined && provenMs < ttlMs) moments.push(ttlMs - provenMs);
    this.#nextBeatInMs = Math.min(this.#nextBeatInMs, ...moments.map((moment) => moment + AFTER_MS));
  }

  #tellDifferences({ opensInMs, granted }: Beat): void {
    const { log, isSharded } = this.#parts;
    const waitsFor = ((): FleetWait | undefined => {
      if (opensInMs > 0) return "new_board";
      return !isSharded && granted?.rest === 0 && granted.seat === 0 ? "part" : undefined;
    })();
    if (waitsFor !== this.waitsFor && waitsFor !== undefined) log.warn({ waitsFor }, WAITS[waitsFor]);
    this.waitsFor = waitsFor;
    const differs = { config: this.view.configs > 1, clock: Math.abs(this.clockAheadMs) > TOLD_CLOCK_MS };
    if (differs.config && !this.#differs.config)
      log.warn({ configs: this.view.configs }, "replicas of this fleet run different configs");
    if (differs.clock && !this.#differs.clock)
      log.warn(
        { aheadMs: Math.round(this.clockAheadMs) },
        "this replica's wall clock differs from that of most replicas",
      );
    this.#differs = differs;
  }
}

const WAITS: Readonly<Record<FleetWait, string>> = {
  new_board: "waiting: Redis has lost its data, so replicas may first go on with what they held",
  part: "waiting: other replicas have all parts of the budgets",
};

function hashOf(text: string): string {
  return hash32(text).toString(36) + hash32(`${text}#`).toString(36);
}

/** Answers speak of limits: this is a constraint of all budgets, and a gate of each upstream. */

import type { Budget, Config, Rate, Upstream } from "../../kernel/config/config.ts";
import type {
  Ask,
  Constraint,
  Granted,
  LedgerView,
  Reservation,
  SendersByBudget,
  Wait,
} from "../../kernel/budget/ledger.ts";
import { needsOf, type Needs } from "../../kernel/budget/needs.ts";
import type { Observation } from "../../kernel/exchange/exchange.ts";
import type { SkipCause } from "../../kernel/exchange/outcome.ts";
import type { Gate, HeldBack, Recorder } from "../../kernel/poll/ports.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import type { Note } from "../../kernel/text/notes.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import { type Moment, momentOf } from "../../kernel/time/moment.ts";
import { forgetOldest } from "../../platform/remembered.ts";
import { BudgetHints, type HintsStatus } from "./budget-hints.ts";
import { alsoHeld, type Concern, concernOf, type Whose, WHY } from "./concern.ts";
import { HINTS, type AnswerHints, readAnswerHints } from "./fields/answer-hints.ts";
import { UpstreamPauses } from "./pauses.ts";
import { type BudgetRecord, heldOf, isInForce, NOTHING_HELD, recordOf } from "./record.ts";
import { lookingAgain } from "./requested-pause.ts";
import { YIELD_KEEPS_ONE_IN } from "./signals.ts";

export type HintsParts = {
  readonly clock: Clock;
  /** It does not follow a wall clock that steps for a moment. */
  readonly calendar: { now(): number };
  /** Earlier processes left these. */
  readonly budgets?: ReadonlyMap<string, BudgetRecord>;
  readonly pauses?: ReadonlyMap<string, number>;
  readonly keepPause?: ((note: Note) => void) | undefined;
  /** Resolves once it is kept, whether or not it could be. */
  readonly keepBudget?: ((budget: string, record: BudgetRecord) => Promise<unknown>) | undefined;
};

/** They bound the pauses that an answer may ask for. */
type Bounds = Pick<Budget, "maxPauseMs" | "blindAfterMs">;

/** Of budgets that left the config, so many are known beside those that still hold something back. */
const MOST_GONE = 500;

const NOTHING_YET: LedgerView = { inFlight: () => 0, partOf: () => undefined, changed: () => {} };

export class Hints implements Constraint {
  readonly #parts: HintsParts;
  readonly #pauses: UpstreamPauses;
  #ledger = NOTHING_YET;
  readonly #budgets = new Map<string, BudgetHints>();
  /** Budgets that are not in the config now may come back. */
  readonly #absent: Map<string, BudgetRecord>;
  /** An upstream that changes its budget takes along what holds it back. */
  #budgetsOf: ReadonlyMap<string, readonly string[]>;
  #upstreamsOf: ReadonlyMap<string, readonly string[]> = new Map();
  /** By a budget that is gone: those of the config that took over its upstreams. Answers on their way still speak of it. */
  readonly #heirs = new Map<string, ReadonlySet<string>>();
  readonly #gates = new Map<string, UpstreamHints>();
  /** By budget, as text: whatever differs from this is kept anew. */
  readonly #kept = new Map<string, string>();
  readonly #unwritten = new Map<string, Promise<unknown>>();

  constructor(parts: HintsParts) {
    const { clock, budgets, pauses, keepPause } = parts;
    this.#parts = parts;
    this.#pauses = new UpstreamPauses(clock, pauses, keepPause);
    this.#absent = new Map(budgets);
    const budgetsOf = new Map<string, readonly string[]>();
    for (const [budget, { upstreams }] of this.#absent)
      for (const name of upstreams) budgetsOf.set(name, [...(budgetsOf.get(name) ?? []), budget]);
    this.#budgetsOf = budgetsOf;
  }

  wait(budget: string, _ask: Ask, nowMs: number): Wait | undefined {
    const hints = this.#budgets.get(budget);
    if (hints === undefined) return undefined;
    const { pausedUntilMs } = hints;
    if (pausedUntilMs > nowMs) return { kind: "wait", untilMs: pausedUntilMs, cause: "backoff", budget };
    const untilMs = hints.usedUpUntilMs(nowMs);
    return untilMs > nowMs ? { kind: "wait", untilMs, cause: "budget", budget } : undefined;
  }

  capOf(budget: string, rate: Rate, cap: number, nowMs: number): number {
    return this.#budgets.get(budget)?.capOf(rate, cap, nowMs) ?? cap;
  }

  /** The state file has what an answer asks for before the next request of its budget. */
  reserve({ budgets }: Ask): Reservation | undefined {
    if (this.#unwritten.size === 0) return undefined;
    const unwritten = budgets.flatMap((budget) => this.#unwritten.get(budget) ?? []);
    const [budget] = budgets;
    if (unwritten.length === 0 || budget === undefined) return undefined;
    // Where it cannot be written, the next request goes all the same: this process knows it.
    const written = Promise.all(unwritten).then(() => true);
    return { budget, written, release: () => {}, holds: () => true };
  }

  grant(budget: string): Granted {
    const hints = this.#budgets.get(budget);
    if (hints === undefined) throw new Error(`cannot grant: budget "${budget}" must be in the config`);
    return hints.granted();
  }

  change({ budgets }: Config, senders: SendersByBudget, ledger: LedgerView): void {
    const isFirst = this.#ledger === NOTHING_YET;
    this.#ledger = ledger;
    const former = new Map(this.#absent);
    for (const [name, hints] of this.#budgets) former.set(name, this.#recordOf(hints));
    const staying = new Set(budgets.map(({ name }) => name));
    for (const name of this.#budgets.keys()) {
      if (staying.has(name)) continue;
      this.#budgets.delete(name);
      this.#kept.delete(name);
      this.#absent.delete(name);
      this.#absent.set(name, former.get(name) ?? NOTHING_HELD);
    }
    // Of those that left just now, answers may still be on their way.
    forgetOldest(this.#heirs, MOST_GONE);
    for (const budget of budgets) {
      const users = senders.get(budget.name) ?? [];
      const needs = needsOf(users);
      const known = this.#budgets.get(budget.name);
      known?.change(budget, needs);
      const hints = known ?? this.#add(budget, needs);
      this.#inherit(hints, users, former);
    }
    const over = [...this.#absent].filter(([, record]) => !isInForce(record, this.#moment.wallMs));
    for (const [name] of over.slice(0, -MOST_GONE)) this.#absent.delete(name);
    for (const [gone, heirs] of this.#heirs)
      this.#heirs.set(gone, new Set([...heirs].flatMap((heir) => this.#standingFor(heir))));
    const all = new Set([...senders.values()].flat());
    this.#budgetsOf = new Map([...all].map((sender) => [sender.name, sender.budgets]));
    this.#upstreamsOf = new Map(
      [...senders].map(([budget, users]) => [budget, users.map(({ name }) => name)]),
    );
    for (const gate of this.#gates.values())
      gate.bounds = this.boundsOf(gate.upstream.budgets) ?? gate.bounds;
    if (!isFirst) for (const { name } of budgets) this.#keep(name);
  }

  /** The gate of an upstream of the config. It goes on as the one that it takes the place of. */
  gateOf(upstream: Upstream): UpstreamHints {
    const { name, budgets } = upstream;
    const bounds = this.boundsOf(budgets);
    if (bounds === undefined) throw new Error(`cannot open "${name}": its budgets must be in the config`);
    this.#pauses.capAt(name, bounds.maxPauseMs);
    const gate = new UpstreamHints(upstream, bounds, this, this.#gates.get(name));
    this.#gates.set(name, gate);
    return gate;
  }

  leave(gate: UpstreamHints): void {
    const { name } = gate.upstream;
    if (this.#gates.get(name) === gate) this.#gates.delete(name);
  }

  /** An upstream that draws on these answered so. Returns for whose limit it was taken, where it could have been that of several. */
  heard(budgets: readonly string[], answerHints: AnswerHints): Whose | undefined {
    const nowMs = this.#parts.clock.now();
    const concerned = this.#concerned(budgets);
    const concern = concerned.length > 1 ? this.#concernOf(concerned, answerHints, nowMs) : undefined;
    for (const hints of concerned) {
      const { name } = hints.budget;
      const wasUsedUp = hints.usedUpUntilMs(nowMs) > nowMs;
      const inFlight = this.#ledger.inFlight(name);
      if (concern === undefined) hints.heardAlone(answerHints, nowMs, inFlight);
      else {
        if (concern.held.has(name)) hints.refused(concern.held.get(name));
        const own = concern.heard.get(name);
        if (own !== undefined) hints.apply(own, nowMs, inFlight);
      }
      if (wasUsedUp || !budgets.includes(name)) this.#ledger.changed(name);
      this.#keep(name);
    }
    return concern?.held;
  }

  /**
   * Whoever draws on these and is no upstream, such as a token endpoint, pauses them where it throttles us. What it says of
   * its limits otherwise is about itself. Returns for how long it asks not to be asked, as far as their pauses may last.
   */
  heardBeside(budgets: readonly string[], { exchange: { head }, withoutKeys }: Observation): number {
    if (head === undefined) return 0;
    const { hints, retryAfter } = readAnswerHints(head, this.#parts.clock.wallNow(), withoutKeys);
    const { waitMs } = retryAfter;
    if (hints.throttled) {
      const pause: AnswerHints["pause"] =
        waitMs === undefined ? hints.pause : { scope: "budget", forMs: waitMs, source: "retry_after" };
      this.heard(budgets, { ...hints, pause, families: [], remaining: undefined });
    }
    return Math.min(waitMs ?? 0, this.boundsOf(budgets)?.maxPauseMs ?? 0);
  }

  /**
   * Returns what of an answer holds for all of its budgets. A spent limit of one resource pauses whoever draws on it, and whoever
   * has not said on what it draws. Where it cannot be told, the whole budget waits.
   */
  share({ upstream: { name, budgets } }: UpstreamHints, answerHints: AnswerHints): AnswerHints {
    const resource = onlyResourceOf(answerHints);
    // An upstream may have left while the poll was in flight: then nothing is remembered.
    const own = this.#gates.get(name);
    if (resource === undefined) {
      if (own !== undefined && answerHints.families.length > 0) own.resource = undefined;
      return answerHints;
    }
    if (own !== undefined) own.resource = resource;
    const others = [...this.#gates.values()].filter(
      ({ upstream }) => upstream.name !== name && upstream.budgets.some((budget) => budgets.includes(budget)),
    );
    const isConcerned = (gate: UpstreamHints): boolean => (gate.resource ?? resource) === resource;
    if (others.every(isConcerned)) return answerHints;
    const ofResource = narrowed(answerHints);
    const { pause } = ofResource;
    if (pause?.scope === "upstream" && answerHints.pause?.scope === "budget")
      for (const other of others.filter(isConcerned)) other.pause(pause.forMs);
    return ofResource;
  }

  pause(upstream: string, forMs: number): void {
    this.#pauses.pause(upstream, forMs);
  }

  /** Until when an upstream alone pauses, not its budget. Monotonic; in the past if there is no pause. */
  upstreamPausedUntilMs(upstream: string): number {
    return this.#pauses.untilMs(upstream);
  }

  /** The same by the wall clock; 0 if there is no pause. */
  upstreamPausedUntilWallMs(upstream: string): number {
    const { nowMs, wallMs } = momentOf(this.#parts.clock);
    const pauseMs = this.#pauses.untilMs(upstream) - nowMs;
    return pauseMs > 0 ? wallMs + pauseMs : 0;
  }

  /** Until when any of these pauses. Monotonic; in the past if there is no pause. */
  pausedUntilMs(budgets: readonly string[]): number {
    let untilMs = 0;
    for (const budget of budgets) untilMs = Math.max(untilMs, this.#budgets.get(budget)?.pausedUntilMs ?? 0);
    return untilMs;
  }

  /** The first of these in which production comes first. */
  yieldingOf(budgets: readonly string[], nowMs: number): string | undefined {
    return budgets.find((budget) => this.#budgets.get(budget)?.isYielding(nowMs));
  }

  /** Undefined where none of these is in the config. */
  boundsOf(budgets: readonly string[]): Bounds | undefined {
    const known = [...this.#among(budgets)].map(({ budget }) => budget);
    if (known.length === 0) return undefined;
    const maxPauseMs = Math.max(...known.map((budget) => budget.maxPauseMs));
    return { maxPauseMs, blindAfterMs: Math.min(...known.map((budget) => budget.blindAfterMs)) };
  }

  statusOf(budget: string): HintsStatus | undefined {
    return this.#budgets.get(budget)?.status(momentOf(this.#parts.clock));
  }

  /** Ends a pause and yielding, by the operator's word. Leases stay held. False for an unknown budget. */
  resume(budget: string): boolean {
    const hints = this.#budgets.get(budget);
    hints?.resume();
    this.#ledger.changed(budget);
    this.#keep(budget);
    return hints !== undefined;
  }

  /** This must outlive the process; undefined for an unknown budget. */
  recordOf(budget: string): BudgetRecord | undefined {
    const hints = this.#budgets.get(budget);
    return hints && this.#recordOf(hints);
  }

  get pauseNotes(): readonly Note[] {
    return this.#pauses.notes;
  }

  /** At the start: else the next process could believe what an older one said of the part that it sent by. */
  keepParts(): void {
    for (const budget of this.#budgets.keys())
      if (this.#ledger.partOf(budget) !== undefined) this.#keep(budget);
  }

  *#among(budgets: Iterable<string>): Generator<BudgetHints> {
    for (const budget of budgets) {
      const hints = this.#budgets.get(budget);
      if (hints !== undefined) yield hints;
    }
  }

  /** Most upstreams draw on one budget, and most budgets stay. */
  #concerned(budgets: readonly string[]): readonly BudgetHints[] {
    const [first = ""] = budgets;
    const only = budgets.length === 1 ? this.#budgets.get(first) : undefined;
    if (only !== undefined) return [only];
    return [...this.#among(new Set(budgets.flatMap((budget) => this.#standingFor(budget))))];
  }

  /** A wider budget is held too, once another part of it is refused within one of its windows. */
  #concernOf(concerned: readonly BudgetHints[], answerHints: AnswerHints, nowMs: number): Concern {
    const draws = concerned.map(({ budget }) => ({
      budget,
      upstreams: this.#upstreamsOf.get(budget.name)?.length ?? 0,
    }));
    const concern = concernOf(draws, answerHints);
    const refused = [...concern.held].find(([, why]) => answerHints.throttled && why === "most_specific");
    if (refused === undefined) return concern;
    const [part] = refused;
    const others = concerned.filter(
      (hints) => hints.budget.name !== part && hints.isRefusedElsewhere(part, nowMs),
    );
    return others.reduce((so, { budget }) => alsoHeld(so, budget.name, answerHints), concern);
  }

  /** One that left the config has none, or those to which its upstreams went. */
  #standingFor(budget: string): readonly string[] {
    return this.#budgets.has(budget) ? [budget] : [...(this.#heirs.get(budget) ?? [])];
  }

  #add(budget: Budget, needs: Needs): BudgetHints {
    const { name } = budget;
    const hints = new BudgetHints(budget, needs);
    this.#budgets.set(name, hints);
    this.#heirs.delete(name);
    this.#adopt(hints, this.#absent.get(name));
    // The file has a record of it, which may say what is over by then.
    if (this.#absent.delete(name)) this.#kept.set(name, "");
    return hints;
  }

  /** It takes over what holds back the budgets that its upstreams drew on before, as where it is renamed. */
  #inherit(
    hints: BudgetHints,
    users: readonly Pick<Upstream, "name" | "budgets">[],
    former: ReadonlyMap<string, BudgetRecord>,
  ): void {
    const { name: own } = hints.budget;
    const left = users.flatMap(({ name, budgets }) => {
      const before = this.#budgetsOf.get(name) ?? [];
      return before.includes(own) ? [] : before.filter((each) => !budgets.includes(each));
    });
    for (const name of new Set(left)) {
      this.#adopt(hints, former.get(name));
      // Of one that stays, only some upstreams moved away: answers of the others are about itself.
      if (!this.#budgets.has(name)) this.#heirs.set(name, new Set(this.#heirs.get(name)).add(own));
    }
  }

  #adopt(hints: BudgetHints, record: BudgetRecord | undefined): void {
    if (record !== undefined) hints.adopt(heldOf(record, this.#moment, hints.budget.maxPauseMs));
  }

  #recordOf({ budget: { name }, held }: BudgetHints): BudgetRecord {
    return recordOf(held, this.#moment, this.#upstreamsOf.get(name), this.#ledger.partOf(name));
  }

  get #moment(): Moment {
    const { clock, calendar } = this.#parts;
    return { nowMs: clock.now(), wallMs: calendar.now() };
  }

  #keep(budget: string): void {
    const { keepBudget } = this.#parts;
    const hints = keepBudget && this.#budgets.get(budget);
    if (keepBudget === undefined || hints === undefined) return;
    const kept = this.#kept.get(budget);
    const isPart = this.#ledger.partOf(budget) !== undefined;
    if (kept === undefined && !isPart && hints.isFree(this.#parts.clock.now())) return;
    const record = this.#recordOf(hints);
    if (record === NOTHING_HELD && kept === undefined) return;
    const text = JSON.stringify(record);
    if (text === kept) return;
    this.#kept.set(budget, text);
    const written = keepBudget(budget, record).finally(() => {
      if (this.#unwritten.get(budget) === written) this.#unwritten.delete(budget);
    });
    this.#unwritten.set(budget, written);
  }
}

const PAUSED: HeldBack = { cause: "backoff" };

/** One upstream may be asked to pause by itself, and yields where its budgets do. */
class UpstreamHints implements Gate {
  readonly upstream: Upstream;
  /** As they were last: an answer may come after its budgets have left the config. */
  bounds: Bounds;
  /** The limits that it spoke of last are about this one. */
  resource: string | undefined;
  readonly #hints: Hints;
  /** Slots in a row. */
  #yielded: number;
  #tell = (): void => {};

  constructor(upstream: Upstream, bounds: Bounds, hints: Hints, before: UpstreamHints | undefined) {
    this.upstream = upstream;
    this.bounds = bounds;
    this.#hints = hints;
    this.resource = before?.resource;
    this.#yielded = before === undefined ? 0 : before.#yielded;
  }

  held(nowMs: number, isExtra: boolean): HeldBack | undefined {
    const { name, budgets } = this.upstream;
    if (this.#hints.upstreamPausedUntilMs(name) > nowMs) return PAUSED;
    if (this.#yielded >= YIELD_KEEPS_ONE_IN - 1 && !isExtra) return undefined;
    const budget = this.#hints.yieldingOf(budgets, nowMs);
    return budget === undefined ? undefined : { cause: "yield", budget };
  }

  decided(cause: SkipCause | undefined): void {
    if (cause === "yield") this.#yielded += 1;
    if (cause === undefined) this.#yielded = 0;
  }

  ended(poll: Poll, recorder: Recorder): number | undefined {
    const answerHints = HINTS.of(poll.said);
    if (answerHints === undefined) return undefined;
    const { maxPauseMs, blindAfterMs } = this.bounds;
    const { name, budgets } = this.upstream;
    const shared = this.#hints.share(this, lookingAgain(answerHints, blindAfterMs));
    const whose = this.#hints.heard(budgets, shared);
    const { pause, throttled } = shared;
    if (pause !== undefined && pause.forMs > 0) {
      const taken = whose && takenFor(whose);
      recorder.record({ kind: "pause_requested", pause, maxPauseMs, budgets, ...taken });
      if (pause.scope === "upstream") this.#hints.pause(name, Math.min(pause.forMs, maxPauseMs));
    } else if (throttled && whose !== undefined) recorder.record({ kind: "refused", ...takenFor(whose) });
    const { scope, forMs = 0 } = answerHints.pause ?? {};
    const isItsOwn = scope === "upstream" && forMs > 0 && poll.outcome.reason === "server_error";
    return isItsOwn ? Math.min(forMs, maxPauseMs) : undefined;
  }

  /** Another upstream was told that a limit is spent that is also this one's. */
  pause(forMs: number): void {
    this.#hints.pause(this.upstream.name, Math.min(forMs, this.bounds.maxPauseMs));
    this.#tell();
  }

  onHeld(tell: () => void): void {
    this.#tell = tell;
  }

  close(): void {
    this.#hints.leave(this);
  }
}

function takenFor(whose: Whose): { readonly budgets: readonly string[]; readonly because: string } {
  const because = [...new Set(whose.values())].map((why) => WHY[why]).join("; ");
  return { budgets: [...whose.keys()], because };
}

/** All limits of an answer are about this; undefined if it does not say, or says more than one thing. */
function onlyResourceOf({ families }: AnswerHints): string | undefined {
  const [only, ...others] = new Set(families.map(({ resource }) => resource));
  return others.length > 0 ? undefined : only;
}

/**
 * Leaves out what would hold back who draws on other resources: the limits are not the budget's, and the pause
 * is the upstream's. But a pause that the resource's own limit does not explain is another one, of who knows whom.
 */
function narrowed(answerHints: AnswerHints): AnswerHints {
  const { pause, families, throttled } = answerHints;
  const isSpent = families.some(({ remaining }) => remaining === 0);
  const asksForMore =
    (throttled || pause !== undefined) && !(isSpent && pause !== undefined && pause.forMs > 0);
  if (asksForMore) return answerHints;
  return {
    ...answerHints,
    throttled: false,
    remaining: undefined,
    isOfOneResource: true,
    pause: pause && { ...pause, scope: "upstream" },
  };
}

import { existsSync } from "node:fs";
import { systemClock } from "../platform/clock.ts";
import { openStateStore } from "../features/state/store.ts";
import { notesBeside } from "../features/state/reading.ts";
import { USER_AGENT } from "../version.ts";
import { KnownKeys } from "../transport/secrets/known-keys.ts";
import { NameResolver } from "../transport/dns/name-resolver.ts";
import { type BudgetsParts, equipmentOf, openBudgets } from "../app/features/polling.ts";
import { LargeAnswers } from "../app/large-answers.ts";
import { closeProbes, openProbes } from "../app/probes.ts";
import { openCredentials } from "../app/features/credentials.ts";
import { proxyPasswords } from "../config/read/secrets.ts";
import type { Budget, Config, Upstream } from "../kernel/config/config.ts";
import { partName } from "../kernel/config/part.ts";
import { type Note, type NoteHome, notesOf } from "../kernel/text/notes.ts";
import { HOURS, allUsed, quotasIn } from "../features/quota/quota.ts";
import { HINTS, type AnswerHints } from "../features/hints/fields/answer-hints.ts";
import { concernOf, drawsOn } from "../features/hints/concern.ts";
import { needsOf } from "../kernel/budget/needs.ts";
import { type LearnedWindow, LearnedWindows } from "../features/hints/learned-windows.ts";
import { listing } from "../kernel/text/listing.ts";
import type { Log } from "../kernel/text/log.ts";
import { COST } from "../features/quota/cost.ts";
import type { Poll } from "../kernel/poll/poll.ts";
import { STREAM } from "../kernel/poll/reader.ts";
import { linesOfSaid, jsonOfSaid } from "../app/features/said.ts";
import type { Ask, Lease, Ledger } from "../kernel/budget/ledger.ts";
import type { Hints } from "../features/hints/hints.ts";
import { PAUSES } from "../features/hints/pauses.ts";
import { HELD, NOTHING_HELD, windowsIn } from "../features/hints/record.ts";
import { formatMoney } from "../platform/money.ts";
import type { StateStore } from "../features/history/state.ts";
import type { Ending, Gate } from "../kernel/poll/ports.ts";
import { humanLatency } from "../platform/humanize.ts";
import { urlWithoutQuery } from "../transport/secrets/keys.ts";
import { limitComparison, limitSentence } from "../features/hints/limit-sentence.ts";
import { LeaseQueue } from "../kernel/polling/lease-queue.ts";
import { endedUnsent, pollOnce, type PollOnceDeps, type Target } from "../kernel/polling/poll-once.ts";
import { type CommandIo, loadOrRefuse } from "../config/command-line.ts";
import { happenedPhases, type PhaseTimesMs, type StreamMeasures } from "../kernel/exchange/exchange.ts";
import { counted } from "../kernel/exchange/json-value.ts";

export type ProbeCommand = CommandIo & {
  /** All of the config's upstreams where empty. */
  readonly names: readonly string[];
  readonly force: boolean;
  readonly json: boolean;
};

/** A signal of the system ends this process at once. */
const NEVER_ABORTED = new AbortController().signal;
/** A daemon may use the same budget: two times more than half of it would be too much. */
const LARGEST_SHARE = 0.5;
/** A longer wait is announced, so that it does not look like a hang. */
const ANNOUNCE_WAITS_OVER_MS = 500;

/**
 * Polls once, now, as the daemon would; its ledger is its own and starts cold. It counts against quotas and spends in
 * the state file, unless a daemon has that open.
 */
export async function probe(command: ProbeCommand): Promise<number> {
  const { environment, json, out } = command;
  const loaded = await loadOrRefuse(command, "everything");
  if (loaded === undefined) return 1;
  const { config } = loaded;
  const keys = new KnownKeys(proxyPasswords(environment).values());
  const err = (line: string): void => command.err(keys.hide(`${line}\n`));
  const upstreams = config.upstreams.filter(
    ({ name }) => command.names.length === 0 || command.names.includes(name),
  );
  const faults = faultsOf(config, upstreams, command);
  for (const fault of faults) err(fault);
  if (faults.length > 0) return 1;
  const clock = systemClock;
  const warn = (_: object, message: string): void => err(message);
  const log: Log = { debug: () => {}, info: () => {}, warn, error: warn };
  const onBug = (error: unknown): void => err(`a bug in pacewatch: ${String(error)}`);
  await using stack = new AsyncDisposableStack();
  const notes = config.state === undefined ? [] : notesBeside(config.state.path);
  const store = await openCounts(config, log);
  stack.defer(() => store?.close());
  const kept = quotasIn([{ notes: store?.notes ?? [] }]);
  const budgets = openBudgets(config, clock, {
    quotas: store?.isLoss === true ? allUsed(kept, clock.wallNow()) : kept,
    ...besideDaemon(config, command.force ? [] : notes),
    homes: store === undefined ? [] : [countsOnly(store)],
  });
  const { ledger, hints, quotas, journal } = budgets;
  store?.readAfterTrouble(() => quotas.notes);
  stack.defer(async () => void (await journal.written()));
  const equipped = upstreams.map((upstream) => ({ ...equipmentOf(upstream, budgets), upstream }));
  const asked = equipped.filter(({ upstream }) => {
    const fault = pauseFault(upstream, hints);
    if (fault !== undefined) err(fault);
    return fault === undefined;
  });
  const names = new NameResolver({ clock });
  const parts = { environment, keys, clock, log, names, userAgent: USER_AGENT };
  const queue = new LeaseQueue(ledger, clock, onBug);
  const largeAnswers = stack.use(new LargeAnswers(clock));
  const credentials = openCredentials({ ...parts, hints, queue, onBug });
  for (const each of credentials) stack.use(each);
  const polled = asked.map(({ upstream }) => upstream);
  const { probes, faults: unopened } = await openProbes(polled, { ...parts, credentials });
  stack.defer(() => closeProbes(probes));
  for (const fault of unopened) err(fault);
  if (unopened.length > 0) return 1;
  const windows = windowsIn(notes);
  const polls = asked.map(async (each): Promise<Result | undefined> => {
    const { upstream } = each;
    const found = probes.get(upstream.name);
    if (found === undefined) throw new Error(`cannot probe: upstream "${upstream.name}" must be open`);
    const target = { ...each, probe: found };
    const poll = await pollWithLease(target, ledger, {
      clock,
      judgeLarge: largeAnswers.judge,
      nextPollId: () => `probe-${upstream.name}-${clock.wallNow().toString(36)}`,
      onBug,
      err,
    });
    if (poll === undefined) return undefined;
    const hints = HINTS.of(poll.said);
    const limits = hints === undefined ? [] : limitsIn(hints, upstream, config, windows);
    if (!json) out(describe(upstream, poll, limits));
    return { upstream, poll, limits };
  });
  const results = await Promise.all(polls);
  const told = results.filter((result) => result !== undefined);
  if (json) out(`${JSON.stringify(told.map(asJson), undefined, 2)}\n`);
  return told.filter(({ poll }) => poll.outcome.kind === "ok").length === upstreams.length ? 0 : 1;
}

async function openCounts({ state, budgets }: Config, log: Log): Promise<StateStore | undefined> {
  const areCounted = budgets.some(({ quota, spend }) => quota !== undefined || spend !== undefined);
  if (state === undefined || !areCounted || !existsSync(state.path)) return undefined;
  const opened = await openStateStore({ path: state.path, clock: systemClock, log });
  if (opened.kind === "opened") return opened.what;
  log.warn({}, `${opened.faults.join("; ")}: quotas and spends do not count this`);
  return undefined;
}

/** Its part is the daemon's: nobody waits here until others have given theirs up. And so is what an upstream asked for. */
function besideDaemon({ budgets }: Config, notes: readonly Note[]): Pick<BudgetsParts, "budgets" | "pauses"> {
  const held = new Map(notesOf(HELD, [{ notes }]));
  for (const budget of budgets)
    held.set(budget.name, { ...(held.get(budget.name) ?? NOTHING_HELD), part: partName(budget) });
  return { budgets: held, pauses: notesOf(PAUSES, [{ notes }]) };
}

/** Undefined where the state file knows of no pause, or of none that `max_pause` allows: its gate is open already. */
function pauseFault({ name, budgets }: Upstream, hints: Hints): string | undefined {
  const pausedUntilMs = Math.max(hints.pausedUntilMs(budgets), hints.upstreamPausedUntilMs(name));
  const pauseMs = pausedUntilMs - systemClock.now();
  if (pauseMs <= 0) return undefined;
  const until = new Date(systemClock.wallNow() + pauseMs).toISOString();
  return `cannot probe: upstream "${name}" asked for a pause until ${until}: before that it needs --force`;
}

/** What the daemon learned of its budgets stays as it left it. */
function countsOnly(store: StateStore): NoteHome {
  return { write: (notes) => store.write(notes.filter(({ kind }) => kind === HOURS.name)) };
}

function faultsOf(
  { upstreams: all, budgets }: Config,
  upstreams: readonly Upstream[],
  { names, force }: ProbeCommand,
): readonly string[] {
  const known = all.map((upstream) => upstream.name);
  const unknown = names
    .filter((name) => !known.includes(name))
    .map((name) => `cannot probe: "NAME" must be one of ${listing(known)}, received ${name}`);
  if (force) return unknown;
  const used = new Set(upstreams.flatMap((upstream) => upstream.budgets));
  const large = budgets
    .filter(({ name, share }) => used.has(name) && share > LARGEST_SHARE)
    .map(
      ({ name, share }) =>
        `cannot probe: budget "${name}" gives ${Math.round(share * 100)}% of its limit to one process, and a daemon ` +
        `may be using that too: over 50% needs --force`,
    );
  return [...unknown, ...large];
}

type PollParts = PollOnceDeps & { readonly err: (line: string) => void };

async function pollWithLease(target: Target, ledger: Ledger, parts: PollParts): Promise<Poll | undefined> {
  const { upstream, probe, ask } = target;
  const slot = { origin: "first" as const, cameMs: parts.clock.now() };
  const ending = probe.gate && (await prepared(probe.gate));
  if (ending !== undefined) return endedUnsent(upstream, slot, ending, parts);
  const lease = await awaitLease(upstream.name, ask, ledger, parts);
  if (lease === undefined) return undefined;
  const poll = await pollOnce(target, slot, lease, parts, () => false, NEVER_ABORTED);
  if (poll === undefined) throw new Error("cannot probe: the lease must be usable until it is settled");
  return poll;
}

type ShownLimit = { readonly sentence: string; readonly comparison: string };

/** Compares what it advertised, with the windows that the daemon has learned, with the config. */
function limitsIn(
  hints: AnswerHints,
  upstream: Upstream,
  config: Config,
  windows: ReadonlyMap<string, readonly LearnedWindow[]>,
): readonly ShownLimit[] {
  const budgets = config.budgets.filter(({ name }) => upstream.budgets.includes(name));
  const heard = budgets.length < 2 ? undefined : concernOf(drawsOn(upstream.budgets, config), hints).heard;
  const drawing = ({ name }: Budget): readonly Upstream[] =>
    config.upstreams.filter((each) => each.budgets.includes(name));
  return budgets.flatMap((budget) =>
    new LearnedWindows(windows.get(budget.name))
      .read((heard === undefined ? hints : heard.get(budget.name))?.families ?? [], systemClock.now())
      .map((limit) => ({
        sentence: limitSentence(limit),
        comparison: limitComparison(limit, budget, needsOf(drawing(budget))),
      })),
  );
}

/** Undefined once it may be polled. */
async function prepared(gate: Gate): Promise<Ending | undefined> {
  for (;;) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const standing = gate.prepare?.({ dueMs: systemClock.now(), settled: resolve });
    if (standing?.kind !== "waiting") return standing;
    await promise;
  }
}

/** Undefined where a quota or a spend does not allow it. */
async function awaitLease(
  name: string,
  ask: Ask,
  ledger: Ledger,
  { clock, err }: PollParts,
): Promise<Lease | undefined> {
  for (let isFirst = true; ; isFirst = false) {
    const decision = await ledger.take(ask);
    if (decision.kind === "granted") return decision.lease;
    if (decision.cause === "quota") {
      err(`${name}: not polled, as budget "${decision.budget}" has too little left to use`);
      return undefined;
    }
    const waitMs = decision.untilMs - clock.now();
    if (isFirst && waitMs > ANNOUNCE_WAITS_OVER_MS) {
      const why = "this process does not know what was sent just before it started";
      err(`${name}: waiting ${humanLatency(waitMs)} for its budget (${why})`);
    }
    await clock.sleep(waitMs, NEVER_ABORTED);
  }
}

function describe(upstream: Upstream, poll: Poll, limits: readonly ShownLimit[]): string {
  const status = poll.head === undefined ? "no answer" : `status ${poll.head.status}`;
  const reason = poll.outcome.reason;
  const outcome = reason === "" ? poll.outcome.kind : `${poll.outcome.kind}: ${reason}`;
  const cost = COST.of(poll.said);
  const slow = poll.degraded ? ", slow" : "";
  return [
    `${upstream.name}  ${outcome}${slow}  ${status}  in ${humanLatency(poll.durationMs)}`,
    `  ${urlWithoutQuery(upstream.url)}`,
    ...(poll.outcome.kind === "ok" ? [] : [`  ${poll.detail}`]),
    ...phaseBars(poll.phasesMs).map((line) => `  ${line}`),
    ...streamLines(STREAM.of(poll.said)).map((line) => `  stream   ${line}`),
    ...linesOfSaid(poll.said).map(([name, line]) => `  ${name.padEnd(8)} ${line}`),
    ...(cost === undefined ? [] : [`  cost     ${formatMoney(cost.units)} ${cost.currency}`]),
    ...limits.map(({ sentence, comparison }) => `  limit    ${sentence}: ${comparison}`),
    "",
    "",
  ].join("\n");
}

type Result = { readonly upstream: Upstream; readonly poll: Poll; readonly limits: readonly ShownLimit[] };

function asJson({ upstream, poll, limits }: Result): object {
  const { said } = poll;
  const [stream, cost] = [STREAM.of(said), COST.of(said)];
  return {
    upstream: upstream.name,
    url: urlWithoutQuery(upstream.url),
    outcome: poll.outcome.kind,
    reason: poll.outcome.reason,
    degraded: poll.degraded,
    status: poll.head?.status,
    durationMs: poll.durationMs,
    phasesMs: poll.phasesMs,
    ...(stream && { stream }),
    detail: poll.detail,
    certificateExpiresAtMs: poll.certificateExpiresAtMs,
    ...jsonOfSaid(said),
    ...(cost && { cost: Number(formatMoney(cost.units)), currency: cost.currency }),
    limits,
  };
}

/** `12 events in 3456 B, the first after 0.42 s, the longest gap 20 ms`. */
function streamLines(stream: StreamMeasures | undefined): readonly string[] {
  if (stream === undefined) return [];
  const { events, bytes, firstEventMs, longestGapMs } = stream;
  const first =
    firstEventMs === undefined ? [] : [`the first that counts after ${humanLatency(firstEventMs)}`];
  const gap = longestGapMs === undefined ? [] : [`the longest gap ${humanLatency(longestGapMs)}`];
  return [[`${counted(events, "event")} in ${bytes} B`, ...first, ...gap].join(", ")];
}

const BAR_CELLS = 32;
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** A small waterfall: one line for each phase that happened, its bar where the phase began and ended. */
export function phaseBars(phasesMs: PhaseTimesMs): readonly string[] {
  const happened = happenedPhases(phasesMs);
  const totalMs = happened.reduce((sum, { ms }) => sum + ms, 0);
  const columns = Math.max(8, ...happened.map(({ words }) => words.length));
  return happened.map(({ words, beforeMs, ms }) => {
    const offset = totalMs === 0 ? 0 : Math.floor((beforeMs / totalMs) * BAR_CELLS);
    const bar = totalMs === 0 ? "" : barOf((ms / totalMs) * BAR_CELLS);
    return `${words.padEnd(columns)} ${humanLatency(ms).padStart(9)}  ${" ".repeat(offset)}${bar}`;
  });
}

/** At least an eighth of a cell, so that every phase shows. */
function barOf(cells: number): string {
  const eighths = Math.max(1, Math.round(cells * 8));
  return "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
}

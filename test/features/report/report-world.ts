import { spentBy } from "../../../src/features/quota/cost.ts";
import { StateBuffer } from "../../../src/features/state/buffer.ts";
import { StateFile } from "../../../src/features/state/file.ts";
import { stateRecorder } from "../../../src/features/state/recorder.ts";
import type { Upstream } from "../../../src/kernel/config/config.ts";
import type { JsonBody } from "../../../src/kernel/exchange/json-body.ts";
import { OK, outcomeOf, type PollOutcome } from "../../../src/kernel/exchange/outcome.ts";
import { History } from "../../../src/features/history/history.ts";
import { OwnNetwork } from "../../../src/features/history/own-network.ts";
import { UpstreamRecord } from "../../../src/features/history/upstream-record.ts";
import { costOf } from "../../../src/features/quota/cost.ts";
import { foldHealth, type Health, UNKNOWN_HEALTH } from "../../../src/kernel/poll/health.ts";
import { DAY_MS, MINUTE_MS } from "../../../src/kernel/time/duration.ts";
import { samplePoll } from "../../support/kernel-samples.ts";

/** What the upstream did with a request that reached it, or did not: its own account, kept apart from ours. */
export type LedgerEntry = {
  readonly upstream: string;
  readonly sentAtMs: number;
  readonly endedAtMs: number;
  readonly did: Deed;
  readonly requestId: string;
  /** Used by this request, as it says in its answer; undefined where it answers with an error, or not at all. */
  readonly tokens: number | undefined;
};

export type Deed = "answered" | "error" | "hung" | "throttled" | "refused_key" | "unreachable";

const OUTCOMES: Readonly<Record<Deed, PollOutcome>> = {
  answered: OK,
  error: outcomeOf("server_error"),
  hung: outcomeOf("timeout"),
  throttled: outcomeOf("rate"),
  refused_key: outcomeOf("unauthorized"),
  unreachable: outcomeOf("connect"),
};

const TOOK_MS: Readonly<Record<Deed, number>> = {
  answered: 120,
  error: 80,
  hung: 10_000,
  throttled: 40,
  refused_key: 50,
  unreachable: 30,
};

const STATUS: Readonly<Partial<Record<Deed, number>>> = { error: 503, throttled: 429, refused_key: 401 };

export type Script = (upstream: string, atMs: number) => Deed;

const CONFIRMS_AFTER_MS = 20_000;
const UNBOUNDED = { polls: Infinity };

type Watched = { readonly upstream: Upstream; readonly record: UpstreamRecord; health: Health };

/**
 * One life of a process over weeks: each slot is polled, judged and recorded as the daemon does it, and written to its
 * state file each day. Its clock is the loop. Returns the upstreams' ledger.
 */
export function live(
  path: string,
  upstreams: readonly Upstream[],
  script: Script,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): readonly LedgerEntry[] {
  const ledger: LedgerEntry[] = [];
  const file = new StateFile(path);
  const opened = file.open(fromMs);
  if (opened.kind === "refused") throw new Error(opened.faults.join("; "));
  let nowMs = fromMs;
  const clock = { now: () => nowMs, wallNow: () => nowMs, sleep: () => Promise.resolve() };
  const buffer = new StateBuffer(UNBOUNDED);
  const network = new OwnNetwork();
  const watched = upstreams.map((upstream): Watched => {
    const { name } = upstream;
    network.watch(upstream, fromMs);
    const history = new History(name, fromMs, opened.restored.upstreams.get(name));
    const receivers = [stateRecorder(name, history, buffer, clock, spentBy)];
    const record = new UpstreamRecord(history, receivers, (poll, judged) =>
      network.judge(name, poll, judged),
    );
    return { upstream, record, health: UNKNOWN_HEALTH };
  });

  const poll = (each: Watched, sentAtMs: number, origin: "schedule" | "confirm"): void => {
    const { upstream, record } = each;
    const did = script(upstream.name, sentAtMs);
    const endedAtMs = (nowMs = sentAtMs + TOOK_MS[did]);
    const requestId = `req-${ledger.length}`;
    const tokens = did === "answered" ? 1 + ((ledger.length * 7_919) % 997) : undefined;
    ledger.push({ upstream: upstream.name, sentAtMs, endedAtMs, did, requestId, tokens });
    const body: JsonBody = { kind: "json", value: { usage: { tokens } } };
    const { price } = upstream;
    const outcome = OUTCOMES[did];
    const status = STATUS[did];
    const headers = [{ name: "x-request-id", bytes: requestId.length, value: requestId }];
    record.record({
      kind: "polled",
      poll: samplePoll({
        id: `life${fromMs.toString(36)}-${ledger.length.toString(36)}`,
        origin,
        sentAtMs,
        endedAtMs,
        delayMs: 0,
        usualGapMs: upstream.schedule.longestGapMs,
        durationMs: TOOK_MS[did],
        phasesMs: { wait: TOOK_MS[did] },
        outcome,
        withinObjective: did === "answered",
        detail: did,
        // As the engine does it: what was never sent costs nothing.
        ...(price && did !== "unreachable" && { said: { cost: costOf(price, () => body) } }),
        ...(status !== undefined && { head: { status, headers } }),
      }),
    });
    const fold = foldHealth(
      each.health,
      {
        kind: "polled",
        outcome,
        isDegraded: false,
        isConfirmed: false,
        sentMs: sentAtMs,
        endedMs: endedAtMs,
      },
      { polls: upstream.confirm, overMs: 0 },
    );
    const { state: from } = each.health;
    each.health = fold.health;
    const { state: to } = fold.health;
    if (from !== to) record.record({ kind: "health_changed", from, to, atMs: endedAtMs });
    if (fold.confirmsInMs !== undefined && origin === "schedule")
      poll(each, endedAtMs + CONFIRMS_AFTER_MS, "confirm");
  };

  for (let atMs = Math.ceil(fromMs / MINUTE_MS) * MINUTE_MS; atMs < toMs; atMs += MINUTE_MS) {
    for (const [place, each] of watched.entries())
      if (atMs % each.upstream.schedule.longestGapMs === 0) poll(each, atMs + 1_000 * place, "schedule");
    if (atMs % DAY_MS === 0) file.write({ ...buffer.take(Infinity), nowMs });
  }
  const reply = file.write({ ...buffer.take(Infinity), nowMs });
  if (reply.kind !== "written") throw new Error(reply.trouble.says);
  file.close();
  return ledger;
}

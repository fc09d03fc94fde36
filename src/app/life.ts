import type { Logger } from "../features/log/logger.ts";
import type { Note } from "../features/quota/journal.ts";
import { JournaledLedger } from "../features/quota/journaled-ledger.ts";
import { LocalLedger } from "../kernel/budget/local-ledger.ts";
import { UpstreamPauses } from "../kernel/budget/pauses.ts";
import { Quotas } from "../features/quota/quotas.ts";
import { NOTHING_HELD } from "../features/hints/record.ts";
import type { Config } from "../kernel/config/config.ts";
import type { Opened } from "../kernel/config/opened.ts";
import { joined, readFacts, withAllUsed } from "../features/history/handover.ts";
import { NOTHING_STANDING, type Standing, type StateStore } from "../features/history/state.ts";
import type { Reign } from "../features/fleet/lead/reign.ts";
import type { Status } from "../features/status/status.ts";
import type { Notifier } from "../features/notify/notifier.ts";
import { HandoverHome } from "../features/fleet/handover.ts";
import { AppNotify } from "../features/notify/notify.ts";
import { AppPolling } from "./polling.ts";
import type { TransportParts } from "./probes.ts";
import type { AppReload } from "./reload.ts";

/**
 * What polls, and all that follows from its polls, with the memory of it. A process alone has one. A process of a fleet
 * has one for each time that it leads, and each begins as after a restart.
 */
export type Life = AsyncDisposable & {
  readonly ledger: LocalLedger;
  readonly polling: AppPolling;
  readonly notifier: Notifier;
  readonly store: StateStore | undefined;
  /** Begins to poll. In a fleet, what cannot be polled for now does not keep it from leading. */
  start(): Promise<Opened<undefined>>;
  changed(config: Config): void;
  /** Polls in flight may end. By budget, for how long something of it still counts. */
  drain(): Promise<ReadonlyMap<string, number>>;
};

export type LifeParts = TransportParts & {
  readonly log: Logger;
  /** For which it lasts; undefined where this process is alone. */
  readonly reign: Reign | undefined;
  /** It is closed with it. */
  readonly store: StateStore | undefined;
  readonly reload: Pick<AppReload, "config" | "proof" | "status">;
  readonly status: () => Status;
  readonly onBug: (error: unknown) => void;
};

export function createLife(config: Config, parts: LifeParts): Life {
  const { clock, log, store, reign, reload, status } = parts;
  const stack = new AsyncDisposableStack();
  const ended = new AbortController();
  stack.defer(() => store?.close());
  const facts = reign?.found.kind === "notes" ? reign.found.facts : undefined;
  const left = readFacts(facts, clock.wallNow());
  const standing = standingOf(store, left, reign, clock.wallNow(), log);

  const quotas = new Quotas(clock, standing.quotas);
  const pauses = new UpstreamPauses(clock, standing.pauses, (upstream, record) => {
    store?.keepPause(upstream, record);
    void handover?.write();
  });
  const ledger = new LocalLedger(config, clock, quotas, standing.budgets, reign);
  // Each is made of the others: nothing is read before the first poll.
  const read = (): Standing => ({
    quotas: quotas.kept,
    budgets: new Map(reload.config.budgets.map(({ name }) => [name, ledger.record(name) ?? NOTHING_HELD])),
    pauses: pauses.records,
    notifications: notify.notifier.remembered,
  });
  const handover =
    reign &&
    new HandoverHome({
      reign,
      clock,
      log,
      read: () => ({ ...read(), seen: polling.seen }),
      ended: ended.signal,
    });
  const homes = [store, handover].filter((home) => home !== undefined);
  const journaled = homes.length === 0 ? undefined : new JournaledLedger(ledger, homes, clock);
  // After the last poll, before the state file is closed.
  stack.defer(async () => {
    quotas.calendar.settle();
    await journaled?.written();
  });
  const notify = new AppNotify(config, {
    ...parts,
    kept: {
      keepNotified: (notified) => {
        store?.keepNotified(notified);
        handover?.told();
      },
      keepReceiver: (receiver, sinceMs) => store?.keepReceiver(receiver, sinceMs),
    },
    before: standing.notifications,
    maySend: () => reign?.maySend() !== false,
  });
  // What the last poll led to may still be told.
  stack.defer(() => notify.notifier.close());
  const polling = new AppPolling(config, {
    ...parts,
    ledger: journaled ?? ledger,
    quotas,
    pauses,
    notifier: notify.notifier,
    before: left,
    looksOf: (upstream) => reload.proof.looksAgain.get(upstream) ?? 0,
    stopping: ended.signal,
  });
  let drained: Promise<void> | undefined;
  const drain = async (): Promise<ReadonlyMap<string, number>> => {
    ended.abort();
    await (drained ??= polling[Symbol.asyncDispose]());
    return ledger.countsForMs;
  };
  stack.defer(async () => void (await drain()));
  return {
    ledger,
    polling,
    notifier: notify.notifier,
    store,
    async start() {
      store?.readAfterTrouble(read);
      if (reign === undefined) {
        journaled?.keepParts(config.budgets.map(({ name }) => name));
        const opened = await polling.open(config);
        if (opened.kind === "refused") return opened;
        polling.apply(config, opened.what);
      } else {
        // What another process counted is to survive here too.
        void store?.write(notesOf(standing));
        await polling.begin();
      }
      notify.start({ reload, polling, store, status });
      return { kind: "opened", what: undefined };
    },
    changed(changed) {
      notify.changed(changed);
      reign?.termsChanged();
    },
    async drain() {
      const left = await drain();
      await handover?.leave();
      return left;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function standingOf(
  store: StateStore | undefined,
  left: Standing | undefined,
  reign: Reign | undefined,
  wallMs: number,
  log: Logger,
): Standing {
  const own = store?.standing ?? NOTHING_STANDING;
  if (left !== undefined) return joined(own, left);
  if (reign?.found.kind !== "none" || !reign.found.isLoss) return own;
  log.warn({}, "the notes of the leader before are lost: what is not known of quotas counts as used");
  return withAllUsed(own, wallMs);
}

function notesOf({ quotas, budgets }: Standing): readonly Note[] {
  return [
    ...quotas.rows.map((row): Note => ({ kind: "quota", row })),
    ...[...budgets].map(([budget, record]): Note => ({ kind: "budget", budget, record })),
  ];
}

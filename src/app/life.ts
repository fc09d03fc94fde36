import { FORECASTS } from "./features/forecasts.ts";
import type { Logger } from "../features/log/logger.ts";
import { PAUSES } from "../features/hints/pauses.ts";
import { allUsed, quotaNotes, quotasIn } from "../features/quota/quota.ts";
import { HELD, heldNote, NOTHING_HELD } from "../features/hints/record.ts";
import { type Note, notesOf } from "../kernel/text/notes.ts";
import { seenIn, seenNote } from "../features/history/incidents.ts";
import { rememberedIn } from "../features/notify/plan/transitions.ts";
import type { Config } from "../kernel/config/config.ts";
import type { Opened } from "../platform/opened.ts";
import type { StateStore } from "../features/history/state.ts";
import type { Reign } from "../features/fleet/lead/reign.ts";
import type { Status } from "../features/status/status.ts";
import type { Notifier } from "../features/notify/notifier.ts";
import { HandoverHome, leftIn } from "../features/fleet/handover.ts";
import { AppNotify } from "../features/notify/notify.ts";
import { type Budgets, openBudgets } from "./features/polling.ts";
import { AppPolling } from "./polling.ts";
import type { TransportParts } from "./probes.ts";
import type { AppReload } from "./reload.ts";

/**
 * What polls, and all that follows from its polls, with the memory of it. A process alone has one. A process of a fleet
 * has one for each time that it leads, and each begins as after a restart.
 */
export type Life = AsyncDisposable & {
  readonly budgets: Budgets;
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
  const left = leftIn(facts, clock.wallNow());
  const kept = [{ notes: store?.notes ?? [] }, ...(left === undefined ? [] : [left])];
  const isLoss = isLossOf(reign);
  if (isLoss)
    log.warn({}, "the notes of the leader before are lost: what is not known of quotas counts as used");
  const counted = quotasIn(kept);
  const known = isLoss || store?.isLoss === true ? allUsed(counted, clock.wallNow()) : counted;
  const held = notesOf(HELD, kept);

  // Each is made of the others: nothing is read before the first poll.
  const read = (): readonly Note[] => [
    ...quotas.notes,
    ...reload.config.budgets.map(({ name }) => heldNote(name, hints.recordOf(name) ?? NOTHING_HELD)),
    ...hints.pauseNotes,
    ...notify.notifier.notes,
  ];
  const handover =
    reign &&
    new HandoverHome({
      reign,
      clock,
      log,
      read: () => [
        ...read().filter(({ json }) => json !== NOTHING_HELD),
        ...[...polling.seen].map(([upstream, seen]) => seenNote(upstream, seen)),
      ],
      ended: ended.signal,
    });
  const budgets = openBudgets(config, clock, {
    quotas: known,
    budgets: held,
    pauses: notesOf(PAUSES, kept),
    right: reign,
    homes: [store, handover].filter((home) => home !== undefined),
    keepPause: (note) => {
      void store?.write([note]);
      void handover?.write();
    },
  });
  const { ledger, hints, quotas, journal } = budgets;
  // After the last poll, before the state file is closed.
  stack.defer(async () => {
    quotas.calendar.settle();
    await journal.written();
  });
  const notify = new AppNotify(config, {
    ...parts,
    keep: (note) => {
      void store?.write([note]);
      handover?.told();
    },
    before: rememberedIn(kept),
    forecasts: FORECASTS,
    maySend: () => reign?.maySend() !== false,
  });
  // What the last poll led to may still be told.
  stack.defer(() => notify.notifier.close());
  const polling = new AppPolling(config, {
    ...parts,
    budgets,
    notifier: notify.notifier,
    before: left && { atMs: left.atMs, seen: seenIn([left]) },
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
    budgets,
    polling,
    notifier: notify.notifier,
    store,
    async start() {
      store?.readAfterTrouble(read);
      if (reign === undefined) {
        hints.keepParts();
        const opened = await polling.open(config);
        if (opened.kind === "refused") return opened;
        polling.apply(config, opened.what);
      } else {
        // What another process counted is to survive here too.
        void store?.write([
          ...quotaNotes(known),
          ...[...held].map(([budget, record]) => heldNote(budget, record)),
        ]);
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

/** There was a leader, and its notes should be there. */
function isLossOf(reign: Reign | undefined): boolean {
  return reign?.found.kind === "none" && reign.found.isLoss;
}

import type { Logger } from "../features/log/logger.ts";
import { PAUSES } from "../features/hints/pauses.ts";
import { allUsed, quotaNotes, quotasIn } from "../features/quota/quota.ts";
import { HELD, heldNote, NOTHING_HELD } from "../features/hints/record.ts";
import { type Note, notesOf } from "../kernel/text/notes.ts";
import { seenIn, seenNote } from "../features/history/incidents.ts";
import type { Config } from "../kernel/config/config.ts";
import type { Opened } from "../platform/opened.ts";
import { MINUTE_MS } from "../kernel/time/duration.ts";
import { sinceBoot } from "../platform/boot-clock.ts";
import type { StateStore } from "../features/history/state.ts";
import type { Status } from "../features/status/status.ts";
import type { Running } from "../kernel/metrics/snapshot.ts";
import type { Leading } from "./features/lead.ts";
import { SERVICES } from "./features/services.ts";
import { type Budgets, openBudgets } from "./features/polling.ts";
import { AppPolling } from "./polling.ts";
import type { TransportParts } from "../transport/open.ts";
import type { AppReload } from "./reload.ts";

/**
 * What polls, and all that follows from its polls, with the memory of it. A process alone has one. A process of a fleet
 * has one for each time that it leads, and each begins as after a restart.
 */
export type Life = AsyncDisposable & {
  readonly budgets: Budgets;
  readonly polling: AppPolling;
  /** The metrics of its services are read from this. */
  readonly running: Partial<Running>;
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
  readonly leading: Leading | undefined;
  /** It is closed with it. */
  readonly store: StateStore | undefined;
  readonly reload: Pick<AppReload, "config" | "proof" | "status">;
  readonly status: () => Status;
  readonly onBug: (error: unknown) => void;
};

export function createLife(config: Config, parts: LifeParts): Life {
  const { clock, log, store, leading } = parts;
  const stack = new AsyncDisposableStack();
  const ended = new AbortController();
  stack.defer(() => store?.close());
  const left = leading?.left;
  const kept = [{ notes: store?.notes ?? [] }, ...(left === undefined ? [] : [left])];
  if (leading?.isLoss === true)
    log.warn({}, "the notes of the leader before are lost: what is not known of quotas counts as used");
  const counted = quotasIn(kept);
  const known =
    leading?.isLoss === true || store?.isLoss === true ? allUsed(counted, clock.wallNow()) : counted;
  const held = notesOf(HELD, kept);

  // Each is made of the others: nothing is read before the first poll.
  const readWith = (counted: readonly Note[]): readonly Note[] => [
    ...counted,
    ...parts.reload.config.budgets.map(({ name }) => heldNote(name, hints.recordOf(name) ?? NOTHING_HELD)),
    ...hints.pauseNotes,
    ...services.flatMap(({ notes = [] }) => notes),
  ];
  const forTheNext = (): readonly Note[] => [
    ...readWith(quotas.sums).filter(({ json }) => json !== NOTHING_HELD),
    ...[...polling.seen].map(([upstream, seen]) => seenNote(upstream, seen)),
  ];
  const handover = leading?.home(forTheNext);
  const budgets = openBudgets(config, clock, {
    quotas: known,
    budgets: held,
    pauses: notesOf(PAUSES, kept),
    right: leading,
    homes: [store, handover].filter((home) => home !== undefined),
    keepPause: (note) => {
      void store?.write([note]);
      void handover?.write([note]);
    },
  });
  const { ledger, hints, quotas, journal } = budgets;
  // After the last poll, before the state file is closed.
  stack.defer(async () => {
    quotas.calendar.settle();
    await journal.written();
  });
  const services = SERVICES.map((open) =>
    open(config, {
      ...parts,
      kept,
      keep: (note) => {
        void store?.write([note]);
        handover?.told();
      },
      maySend: () => leading?.maySend() !== false,
      polling: () => polling,
    }),
  );
  stack.defer(async () => void (await Promise.all(services.map(async (service) => service.close?.()))));
  const polling = new AppPolling(config, {
    ...parts,
    // Whether nobody looked for an hour is no matter of milliseconds.
    sinceBootMs: sinceBoot(clock, undefined, MINUTE_MS),
    budgets,
    services,
    before: left && { atMs: left.atMs, seen: seenIn([left]) },
    looksOf: (upstream) => parts.reload.proof.looksAgain.get(upstream) ?? 0,
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
    running: Object.assign({}, ...services.map(({ running }) => running)),
    store,
    async start() {
      store?.readAfterTrouble(() => readWith(quotas.notes));
      if (leading === undefined) {
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
      for (const service of services) service.start?.();
      return { kind: "opened", what: undefined };
    },
    changed(changed) {
      for (const service of services) service.changed?.(changed);
      leading?.termsChanged();
    },
    async drain() {
      const left = await drain();
      await handover?.write([]);
      return left;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

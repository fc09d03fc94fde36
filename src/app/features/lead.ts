import { fleetOf } from "../../features/fleet/open.ts";
import type { FleetStatus } from "../../features/status/status.ts";
import type { SendersOf } from "../../kernel/budget/needs.ts";
import type { Right } from "../../kernel/budget/local-ledger.ts";
import type { Config } from "../../kernel/config/config.ts";
import type { Running } from "../../kernel/metrics/snapshot.ts";
import type { Left, Note, NoteHome } from "../../kernel/text/notes.ts";
import type { Opened } from "../../platform/opened.ts";
import type { TransportParts } from "../../transport/open.ts";

/** One time that this process leads. */
export type Leading = Right & {
  maySend(): boolean;
  /** The leader before left these. */
  readonly left: (Left & { readonly atMs: number }) | undefined;
  /** It left nothing, and should have. */
  readonly isLoss: boolean;
  /** What is read is written there, for the next leader. */
  home(read: () => readonly Note[]): NoteHome & { told(): void };
  termsChanged(): void;
};

/** Where several processes may poll, one of them leads. */
export type Lead = AsyncDisposable & {
  readonly status: FleetStatus;
  /** Its metrics are read from this. */
  readonly running: Partial<Running>;
  /** Another may lead as soon as `drained` has told for how long what was sent still counts. */
  stop(drained: Promise<ReadonlyMap<string, number>>): Promise<void>;
};

type LeadParts = TransportParts & {
  /** As it is now. */
  readonly config: () => Config;
  readonly sendersOf: SendersOf;
  readonly onLead: (leading: Leading) => void;
  readonly onLost: () => void;
};

type OpenLead = (parts: LeadParts) => Promise<Opened<Lead>>;

const LEADS: readonly ((config: Config) => OpenLead | undefined)[] = [fleetOf];

/** Undefined where this process is alone. */
export function leadOf(config: Config): OpenLead | undefined {
  return LEADS.map((of) => of(config)).find((open) => open !== undefined);
}

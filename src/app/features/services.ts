import { apiEnding } from "../../features/announcements/announcement.ts";
import type { StateStore } from "../../features/history/state.ts";
import { openNotifier, type Forecast } from "../../features/notify/notify.ts";
import type { Status } from "../../features/status/status.ts";
import type { Config } from "../../kernel/config/config.ts";
import type { Running } from "../../kernel/metrics/snapshot.ts";
import type { Left, Note } from "../../kernel/text/notes.ts";
import type { TransportParts } from "../../transport/open.ts";
import { pageUrlOf } from "./page-url.ts";
import type { Beside } from "./polling.ts";
import type { AppPolling } from "../polling.ts";
import type { AppReload } from "../reload.ts";

/** A feature runs this beside the polls of one life: begun after the first of them, and closed after the last. */
export type Service = Beside & {
  /** The next process must know these. */
  readonly notes?: readonly Note[];
  /** Its metrics and its facts are read from this. */
  readonly running?: Partial<Running>;
  start?(): void;
  changed?(config: Config): void;
  close?(): Promise<void>;
};

export type ServiceParts = TransportParts & {
  /** Earlier processes left these. */
  readonly kept: readonly Left[];
  readonly keep: (note: Note) => void;
  /** Whether this process still leads. */
  readonly maySend: () => boolean;
  readonly onBug: (error: unknown) => void;
  readonly polling: () => AppPolling;
  readonly reload: Pick<AppReload, "config" | "status">;
  readonly store: StateStore | undefined;
  readonly status: () => Status;
};

/** Features warn of these, beside incidents. */
const FORECASTS: readonly Forecast[] = [apiEnding];

export const SERVICES: readonly ((config: Config, parts: ServiceParts) => Service)[] = [
  (config, parts) => openNotifier(config, { ...parts, pageUrlOf, forecasts: FORECASTS }),
];

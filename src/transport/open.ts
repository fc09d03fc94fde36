import type { Probe } from "../kernel/poll/ports.ts";
import type { Clock } from "../kernel/time/clock.ts";
import type { Opened } from "../platform/opened.ts";
import type { BodyMemory } from "./body-memory.ts";
import type { NameResolver } from "./dns/name-resolver.ts";
import { openProbe, type ProbeOptions } from "./probe.ts";
import type { KeyParts } from "./secrets/keys.ts";

export type TransportParts = KeyParts & {
  readonly clock: Clock;
  readonly userAgent: string;
  /** One for the whole process. */
  readonly names: NameResolver;
  /** Shared by large bodies, if this process has more to do than to poll once. */
  readonly memory?: BodyMemory;
};

type OwnOptions = Pick<ProbeOptions, "upstream" | "secrets" | "credential" | "gate" | "memory" | "handsOver">;

/** What asks upstreams, token endpoints and receivers. `fields` are logged with every warning about it. */
export function openTransport(
  { clock, environment, names, userAgent, log }: TransportParts,
  { fields, ...own }: OwnOptions & { readonly fields: object },
): Promise<Opened<Probe>> {
  const onWarning = (message: string): void => log.warn(fields, message);
  return openProbe({ ...own, userAgent, clock, environment, names, onWarning });
}

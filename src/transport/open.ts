import { messageOf } from "../kernel/text/escape.ts";
import type { Probe } from "../kernel/poll/ports.ts";
import type { Clock } from "../kernel/time/clock.ts";
import type { Opened } from "../platform/opened.ts";
import type { BodyMemory } from "./body-memory.ts";
import { type ProbeOptions, UndiciProbe } from "./probe.ts";
import { requestBuilder } from "./request.ts";
import { findRoute, type Names } from "./route.ts";
import type { KeyParts } from "./secrets/keys.ts";

export type TransportParts = KeyParts & {
  readonly clock: Clock;
  readonly userAgent: string;
  /** One for the whole process. */
  readonly names: Names;
  /** Shared by large bodies, if this process has more to do than to poll once. */
  readonly memory?: BodyMemory;
};

/**
 * What asks upstreams, token endpoints and receivers. `fields` are logged with every warning about it. Refused where the
 * TLS files or the proxy cannot be used.
 */
export async function openTransport(
  { clock, environment, names, userAgent, log }: Omit<TransportParts, "keys" | "memory">,
  { fields, ...own }: Omit<ProbeOptions, "clock"> & { readonly fields: object },
): Promise<Opened<Probe>> {
  const { upstream } = own;
  const onWarning = (message: string): void => log.warn(fields, message);
  try {
    const route = await findRoute(upstream, environment, clock, names, onWarning);
    const forwardProxy = route.tls === undefined ? route.proxy : undefined;
    const build = requestBuilder(upstream, userAgent, forwardProxy);
    return { kind: "opened", what: new UndiciProbe({ ...own, clock }, route, build) };
  } catch (error) {
    return { kind: "refused", faults: [messageOf(error)] };
  }
}

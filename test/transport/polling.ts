import { opened } from "../support/opened.ts";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { onTestFinished } from "vitest";
import type { Endpoint } from "../../src/transport/request.ts";
import { bodyReadingOf } from "../../src/app/features/reading.ts";
import { signerOf } from "../../src/app/features/credentials.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { openTransport } from "../../src/transport/open.ts";
import type { ProbeOptions } from "../../src/transport/probe.ts";
import type { Names } from "../../src/transport/route.ts";
import type { Tls, Upstream } from "../../src/kernel/config/config.ts";
import type { Exchange, Observation } from "../../src/kernel/exchange/exchange.ts";
import type { Probe } from "../../src/kernel/poll/ports.ts";
import { openRawUpstream, type RawOptions, type RawUpstream, type Script } from "../support/raw-upstream.ts";
import { sampleUpstream } from "../support/kernel-samples.ts";
import { systemNames } from "../support/names.ts";
import { noLog } from "../support/no-log.ts";

export const NO_TLS_FILES: Tls = {
  caFile: undefined,
  certFile: undefined,
  keyFile: undefined,
  serverName: undefined,
  insecureSkipVerify: false,
};

/** Long enough for anything that is expected to come; a test that waits for it in vain fails by vitest's own limit. */
export const PATIENT_MS = 60_000;
/** For what never comes. */
export const SHORT_MS = 250;

/** When the next answer's head has been read, as the library tells. */
export function headRead(): Promise<void> {
  const channel = "undici:request:headers";
  return new Promise((resolve) => {
    const hear = (): void => {
      unsubscribe(channel, hear);
      resolve();
    };
    subscribe(channel, hear);
  });
}

export async function startUpstream(script: Script, options: RawOptions = {}): Promise<RawUpstream> {
  const upstream = await openRawUpstream(script, options);
  onTestFinished(() => upstream.close());
  return upstream;
}

type Options = ProbeOptions & {
  readonly environment: Readonly<Record<string, string>>;
  readonly names: Names;
  readonly onWarning: (message: string) => void;
};

/** Names may lead to this machine here. */
export async function startProbe(
  changes: Partial<Upstream & Pick<Endpoint, "payload">>,
  options: Partial<Options> = {},
): Promise<Probe> {
  const upstream = sampleUpstream({ timeoutMs: PATIENT_MS, denyAddresses: [], ...changes });
  const probe = opened(
    await openTransport(
      {
        userAgent: "pacewatch/test",
        clock: systemClock,
        environment: {},
        names: systemNames,
        log: { ...noLog, warn: (_, message) => options.onWarning?.(message) },
        ...options,
      },
      {
        fields: {},
        upstream: { ...upstream, reading: bodyReadingOf(upstream), sign: signerOf(upstream) },
        credential: undefined,
        ...options,
      },
    ),
  );
  onTestFinished(() => probe.close());
  return probe;
}

/**
 * One poll by a fresh probe. What holds after every poll is checked here: the upstream has read no more requests than
 * the poll says it sent, the phases make up the duration, and no connection is left open.
 */
export async function pollOnce(
  upstream: RawUpstream,
  changes: Partial<Upstream> = {},
  options: Partial<Options> = {},
): Promise<Observation> {
  const probe = await startProbe({ url: `${upstream.url}/v1/resources`, ...changes }, options);
  const observation = await probe.poll(new AbortController().signal);
  await upstream.idle();
  const sent = observation.exchange.kind === "answered" || observation.exchange.sent;
  if (!sent && upstream.requests.length > 0) throw new Error("a request came that was not sent");
  if (upstream.requests.length > 1) throw new Error("more than one request came");
  const sumMs = Object.values(observation.phasesMs).reduce((sum, ms) => sum + ms, 0);
  if (sumMs > observation.durationMs + 0.001) throw new Error("the phases last longer than the whole");
  return observation;
}

export function brokenOf({ exchange }: Observation): Extract<Exchange, { kind: "broken" }> {
  if (exchange.kind === "answered") throw new Error(`expected a break, received ${exchange.head.status}`);
  return exchange;
}

export function answeredOf({ exchange }: Observation): Extract<Exchange, { kind: "answered" }> {
  if (exchange.kind === "broken") throw new Error(`expected an answer: ${exchange.fault} ${exchange.detail}`);
  return exchange;
}

export function bodyText(observation: Observation): string {
  return Buffer.from(answeredOf(observation).body).toString("utf8");
}

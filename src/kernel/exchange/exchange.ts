/** One request and its answer on the wire, not yet judged. */

/** So much of a body each upstream may always send: it is decoded and judged on the polling thread. */
export const SMALL_BODY_BYTES = 65_536;
/** The most that a config may allow. Larger bodies could not be judged in the memory that is shipped. */
export const LARGEST_BODY_BYTES = 8_388_608;

/** An answer is one transfer, or a stream: until its first event that counts, and after it. */
export const PHASES = ["dns", "connect", "tls", "wait", "transfer", "first_event", "stream"] as const;
export type Phase = (typeof PHASES)[number];

/** We do this in each: a poll timed out "waiting for the answer". */
export const ACTIVITIES: Readonly<Record<Phase, string>> = {
  dns: "resolving the host name",
  connect: "connecting",
  tls: "in the TLS handshake",
  wait: "waiting for the answer",
  transfer: "reading the answer",
  first_event: "waiting for the first event",
  stream: "reading the stream",
};

/** A phase that did not happen (an address that needs no name, a reused socket) is absent, not 0. */
export type PhaseTimesMs = Readonly<Partial<Record<Phase, number>>>;

/** Those that happened, one after the other, each with the time that the ones before it took. */
export function happenedPhases(phasesMs: PhaseTimesMs): readonly {
  readonly phase: Phase;
  readonly words: string;
  readonly beforeMs: number;
  readonly ms: number;
}[] {
  let beforeMs = 0;
  return PHASES.flatMap((phase) => {
    const ms = phasesMs[phase];
    if (ms === undefined) return [];
    const happened = { phase, words: phase.replace("_", " "), beforeMs, ms };
    beforeMs += ms;
    return [happened];
  });
}

/** Names are in lower case. A repeated header is repeated here, in the order of arrival. */
export type Headers = readonly (readonly [name: string, value: string])[];

export type AnswerHead = {
  readonly status: number;
  readonly reasonPhrase: string;
  readonly headers: Headers;
};

/** A value may be a session or a key, so it is kept only where the name says that it is a request id. */
export type KeptHeader = { readonly name: string; readonly bytes: number; readonly value?: string };

/** The part of a head that is kept. */
export type KeptHead = { readonly status: number; readonly headers: readonly KeptHeader[] };

/** What of an answer is looked at: of a stream the last event, unless it is said. */
export const STREAM_PARTS = ["last", "first", "joined"] as const;
export type StreamPart = (typeof STREAM_PARTS)[number];

/** `broke_off`: the answer ended, but not the stream. `left`: it had said enough. */
export type StreamEnd = "complete" | "broke_off" | "left" | "error" | "too_long";

export type StreamMeasures = {
  readonly events: number;
  readonly bytes: number;
  /** From the start of the poll to the first event that counts. */
  readonly firstEventMs: number | undefined;
  /** The longest time between two events that count; undefined for fewer than two. */
  readonly longestGapMs: number | undefined;
};

/** What was read of one. Its last event is the body of the answer. */
export type StreamRead = {
  readonly end: StreamEnd;
  readonly events: number;
  readonly bytes: number;
  /** The first event that counts. */
  readonly first: Uint8Array | undefined;
  /** The texts that count, one after the other. */
  readonly joined: Uint8Array;
};

/** Every other reason is a judgement. */
export type WireFault =
  | "dns"
  | "connect"
  | "tls"
  | "timeout"
  | "reset"
  | "protocol"
  | "body_too_large"
  | "memory"
  | "bug";

/** An answer came, and was not judged: it takes too long, needs too much memory, or we stood still. */
export type Unjudged = "assertion" | "memory" | "suspended";

/** An answer as it came: it may hold our key. */
export type Exchange =
  | {
      readonly kind: "answered";
      readonly head: AnswerHead;
      /** Of a stream the last event, or what came in place of events. */
      readonly body: Uint8Array;
      readonly stream?: StreamRead;
    }
  | {
      readonly kind: "broken";
      readonly fault: WireFault | Unjudged;
      /** For people: one line, escaped and capped, without secrets. */
      readonly detail: string;
      /** Whether any byte of the request may have reached the upstream. */
      readonly sent: boolean;
      /** The head of the answer, if it came before the break. */
      readonly head: AnswerHead | undefined;
    };

/** Whether any byte of the request may have reached the upstream. */
export function wasSent(exchange: Exchange): boolean {
  return exchange.kind === "answered" || exchange.head !== undefined || exchange.sent;
}

export type Observation = {
  readonly exchange: Exchange;
  readonly durationMs: number;
  readonly phasesMs: PhaseTimesMs;
  /** The earliest expiry in the certificate chain. */
  readonly certificateExpiresAtMs: number | undefined;
  /** To be asked for each text of the answer that is kept or shown: a key is not in what it returns. */
  readonly withoutKeys: WithoutKeys;
  readonly large?: LargeBody;
  /** Absent where no stream began. */
  readonly stream?: StreamMeasures | undefined;
};

/** A body that may take too long for the polling thread: it is still encoded, and another thread judges it. */
export type LargeBody = {
  /** Decoded, it may be as large as this. */
  readonly maxBytes: number;
  /** Those that `withoutKeys` hides. */
  readonly keys: readonly string[];
  /** Called when its bytes are needed no more. */
  readonly release: () => void;
};

export type WithoutKeys = (text: string) => string;

/** All values of one header, joined as HTTP joins them; undefined without one. */
export function headerValue(headers: Headers, name: string): string | undefined {
  let joined: string | undefined;
  for (const header of headers) {
    if (header[0] === name) joined = joined === undefined ? header[1] : `${joined}, ${header[1]}`;
  }
  return joined;
}

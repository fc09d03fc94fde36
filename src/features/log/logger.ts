import { pino } from "pino";
import { requestIdsIn } from "../../kernel/exchange/kept-headers.ts";
import type { LogLevel } from "./config.ts";
import type { Log } from "../../kernel/text/log.ts";
import { rowOf } from "../../kernel/exchange/reasons.ts";
import type { SkipCause } from "../../kernel/exchange/outcome.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import type { PollEvent, Recorder } from "../../kernel/poll/ports.ts";
import { oneLine } from "../../kernel/text/escape.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import { formatDuration, MINUTE_MS } from "../../kernel/time/duration.ts";
import { StdoutLines } from "./stdout.ts";

/** For each upstream, at `info` and above. What is left out is counted. */
export const LOG_BYTES_A_MINUTE = 10_000;

const LONGEST_DETAIL = 500;
/** While yielding, one slot in four is used: fewer starts in a row than this do not end skipping. */
const STARTS_THAT_END_SKIPPING = 5;
/** The time, the level, the message and the name of the upstream. */
const LINE_BYTES = 250;

export type LoggerOptions = {
  readonly level: LogLevel;
  /** Standard output by default. */
  readonly out?: { write(line: string): unknown; readonly isTTY?: boolean };
  /** For people; the default on a terminal. */
  readonly pretty?: boolean;
};

/** The level may be changed while it runs. */
export type Logger = Log & { level: string };

export function createLogger({ level, out, pretty }: LoggerOptions): Logger {
  const isTerminal = (out ?? process.stdout).isTTY === true;
  const isPretty = pretty ?? isTerminal;
  const hasColours = isTerminal && !process.env["NO_COLOR"];
  const format = (line: string): string => (isPretty ? prettyLine(line, hasColours) : line);
  const lines = out ?? new StdoutLines((lost) => format(lostNotice(lost)));
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(options, { write: (line) => void lines.write(format(line)) });
}

function lostNotice(lines: number): string {
  const time = new Date().toISOString();
  return `${JSON.stringify({ level: "warn", time, lines, msg: "log lines were lost" })}\n`;
}

const POLL_LEVELS: ReadonlySet<string> = new Set<LogLevel>(["trace", "debug"]);

/** Tells what a feature has to say of each poll of one upstream. */
export type PollLog = (poll: Poll, log: Pick<Log, "info" | "warn">) => void;

/** A change of health is logged, each poll at debug; skipped slots once for each cause, and once when skipping ends. */
export class LogRecorder implements Recorder {
  /** Its level is read each time. */
  readonly #log: Readonly<Logger>;
  readonly #upstream: string;
  readonly #clock: Pick<Clock, "now">;
  readonly #usedUp: (budget: string | undefined) => string | undefined;
  #loggedCauses: readonly SkipCause[] = [];
  #skippedSlots = 0;
  #startsInARow = 0;
  #wasPolled = false;
  readonly #pollLogs: readonly PollLog[];
  readonly #bounded: Pick<Log, "info" | "warn"> = {
    info: (fields, message) => this.#write("info", fields, message),
    warn: (fields, message) => this.#write("warn", fields, message),
  };
  #minuteFromMs = Number.NEGATIVE_INFINITY;
  #minuteBytes = 0;
  #leftOut = 0;

  /** `usedUp`: why its budgets, or one of them, have no quota or spend left for a poll of it, in words. */
  constructor(
    log: Readonly<Logger>,
    upstream: string,
    clock: Pick<Clock, "now">,
    usedUp: (budget: string | undefined) => string | undefined = () => undefined,
    pollLogs: readonly PollLog[] = [],
  ) {
    this.#log = log;
    this.#upstream = upstream;
    this.#clock = clock;
    this.#usedUp = usedUp;
    this.#pollLogs = pollLogs;
  }

  record(event: PollEvent): void {
    switch (event.kind) {
      case "slot_waiting":
      case "unwatched":
        return;
      case "slot_started":
        return this.#slotStarted();
      case "slots_skipped":
        return this.#slotsSkipped(event);
      case "polled":
        return this.#polled(event.poll);
      case "pause_requested":
        return this.#pauseRequested(event);
      case "refused":
        return this.#write(
          "info",
          { budget: event.budgets.join(", "), because: event.because },
          "upstream refused a poll for a limit",
        );
      case "judged":
        return this.#judged(event.poll);
      case "health_changed":
        return this.#healthChanged(event);
      default:
        event satisfies never;
    }
  }

  #slotStarted(): void {
    this.#startsInARow += 1;
    if (this.#loggedCauses.length > 0 && this.#startsInARow >= STARTS_THAT_END_SKIPPING) {
      this.#write("info", { skipped: this.#skippedSlots }, "slots are no longer skipped");
      this.#loggedCauses = [];
      this.#skippedSlots = 0;
    }
  }

  #slotsSkipped({ cause, count, budget }: Extract<PollEvent, { kind: "slots_skipped" }>): void {
    this.#startsInARow = 0;
    const fields = { cause, ...(budget === undefined ? {} : { budget }), count };
    if (cause === "shutdown" || this.#loggedCauses.includes(cause)) {
      this.#log.debug({ upstream: this.#upstream, ...fields }, "slot skipped");
    } else {
      // A healthy start waits too, as nobody knows what was sent before it.
      const isStart = cause === "budget" && !this.#wasPolled;
      const detail = cause === "quota" ? this.#usedUp(budget) : undefined;
      this.#write(
        "info",
        { ...fields, ...(detail !== undefined && { detail }) },
        isStart ? "slots are skipped until the first poll" : "slots are being skipped",
      );
      this.#loggedCauses = [...this.#loggedCauses, cause];
    }
    this.#skippedSlots += count;
  }

  #polled(poll: Poll): void {
    this.#wasPolled = true;
    for (const tell of this.#pollLogs) tell(poll, this.#bounded);
  }

  #judged(poll: Poll): void {
    // On the hot path of every poll: build nothing that is not logged.
    if (!POLL_LEVELS.has(this.#log.level)) return;
    const fields = {
      upstream: this.#upstream,
      origin: poll.origin,
      outcome: poll.outcome.kind,
      ...pollFields(poll),
    };
    this.#log.debug({ ...fields, delayMs: rounded(poll.delayMs) }, "polled");
  }

  #pauseRequested({
    budgets,
    pause,
    maxPauseMs,
    because,
  }: Extract<PollEvent, { kind: "pause_requested" }>): void {
    const { scope, source, forMs } = pause;
    const seconds = Math.round(forMs / 1_000);
    const fields = { budget: budgets.join(", "), ...(because && { because }), scope, source, seconds };
    if (source === "credit_spent") return this.#write("info", fields, "credit is spent, pausing the budget");
    if (forMs <= maxPauseMs) return this.#write("info", fields, "upstream requested a pause");
    const cap = formatDuration(maxPauseMs);
    this.#write("warn", { ...fields, cap }, "upstream requested a pause longer than max_pause, capped");
  }

  #healthChanged({ from, to, poll: last }: Extract<PollEvent, { kind: "health_changed" }>): void {
    // It becomes unknown because polls are missing: the last poll is not the cause.
    const poll = to === "unknown" ? undefined : last;
    const side = poll && rowOf(poll.outcome.reason)?.verdict.side;
    const fields = { from, to, ...(side && { side }), ...(poll && pollFields(poll)) };
    this.#write(to === "up" ? "info" : "warn", fields, "health changed");
  }

  /** What an upstream does can fill a disk. Debug lines are for whoever asks for them. */
  #write(level: "info" | "warn", fields: object, message: string): void {
    const upstream = this.#upstream;
    const nowMs = this.#clock.now();
    if (nowMs - this.#minuteFromMs >= MINUTE_MS) {
      if (this.#leftOut > 0) this.#log.warn({ upstream, lines: this.#leftOut }, "log lines were left out");
      this.#minuteFromMs = nowMs;
      this.#minuteBytes = 0;
      this.#leftOut = 0;
    }
    const bytes = LINE_BYTES + Buffer.byteLength(JSON.stringify(fields));
    if (this.#minuteBytes + bytes > LOG_BYTES_A_MINUTE) {
      this.#leftOut += 1;
      return;
    }
    this.#minuteBytes += bytes;
    this.#log[level]({ upstream, ...fields }, message);
  }
}

function pollFields(poll: Poll): object {
  const { reason } = poll.outcome;
  const requestIds = requestIdsIn(poll.head?.headers);
  return {
    poll: poll.id,
    ...(reason === "" ? {} : { reason }),
    ...(poll.head === undefined ? {} : { status: poll.head.status }),
    durationMs: rounded(poll.durationMs),
    phasesMs: Object.fromEntries(Object.entries(poll.phasesMs).map(([phase, ms]) => [phase, rounded(ms)])),
    detail: oneLine(poll.detail, LONGEST_DETAIL),
    ...(requestIds === undefined ? {} : { requestIds }),
  };
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}

const LONGEST_VALUE = 1000;
const DIM = 2;
const LEVEL_COLOURS: ReadonlyMap<unknown, number> = new Map([
  ["trace", DIM],
  ["debug", 36],
  ["info", 32],
  ["warn", 33],
  ["error", 31],
]);

/** A JSON line of the log for a terminal: time, level, message, fields. */
export function prettyLine(json: string, hasColours: boolean): string {
  const entry: Readonly<Record<string, unknown>> = JSON.parse(json);
  const { time, level, msg, ...fields } = entry;
  const paint = (code: number, text: string): string =>
    hasColours ? `\u001b[${code}m${text}\u001b[0m` : text;
  const parts = [
    paint(DIM, shown(time).slice(11, 23)),
    paint(LEVEL_COLOURS.get(level) ?? 0, shown(level).toUpperCase().padEnd(5)),
    oneLine(shown(msg), LONGEST_VALUE),
    ...Object.entries(fields).map(([name, value]) => paint(DIM, `${name}=`) + quoted(value)),
  ];
  return `${parts.join(" ")}\n`;
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}

/** Quoted where the end of the value would be unclear. */
function quoted(value: unknown): string {
  const text = shown(value);
  return oneLine(
    typeof value === "string" && /[\s"=]|^$/.test(text) ? JSON.stringify(text) : text,
    LONGEST_VALUE,
  );
}

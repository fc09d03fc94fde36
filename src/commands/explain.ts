import { readFile } from "node:fs/promises";
import { decodeBody } from "../transport/decode.ts";
import { concernOf, type Draw, drawsOn, WHY } from "../features/hints/concern.ts";
import { HINTS, type AnswerHints } from "../features/hints/fields/answer-hints.ts";
import { limitsOf } from "../features/hints/fields/limits.ts";
import type { Expectation, Upstream } from "../kernel/config/config.ts";
import { type AnswerHead, type Exchange, headerValue } from "../kernel/exchange/exchange.ts";
import { bodyReadingOf } from "../app/features/reading.ts";
import type { BodyReading } from "../transport/body-reader.ts";
import { Answer } from "../kernel/poll/answer.ts";
import { judgeAnswer, type Libraries } from "../kernel/poll/judging.ts";
import { jsonOfSaid, linesOfSaid } from "../app/features/said.ts";
import { humanDuration } from "../platform/humanize.ts";
import { oneLine } from "../kernel/text/escape.ts";
import { listing } from "../kernel/text/listing.ts";
import { parseHttpDate } from "../kernel/time/http-date.ts";
import { fileProblem } from "../platform/regular-file.ts";
import { judgingOf, librariesFor } from "../app/features/judging.ts";
import { type CommandIo, loadOrRefuse } from "../config/command-line.ts";

export type ExplainCommand = CommandIo & {
  /** `-` for standard input. */
  readonly file: string;
  /** Whose `expect` is used. The config is read only for this. */
  readonly upstream: string | undefined;
  readonly json: boolean;
  readonly standardInput: () => Promise<Uint8Array>;
  readonly wallNowMs: number;
};

const USUAL: Expectation = { status: [200], json: true, maxBodyBytes: 1_048_576 };
const MOST_WORDS = 80;

/** Says what a saved answer would mean to the daemon, and by which words. Asks nobody. Returns the exit code. */
export async function explain(command: ExplainCommand): Promise<number> {
  const { file, json, out, err } = command;
  const expected = await expectationOf(command);
  if (expected === undefined) return 1;
  const bytes = file === "-" ? await command.standardInput() : await read(file, err);
  if (bytes === undefined) return 1;
  const answer = parseAnswer(bytes);
  if (answer === undefined) {
    err(
      `cannot explain: ${file === "-" ? "standard input" : file} must begin with a status line such as "HTTP/1.1 429", as "curl -i" prints it\n`,
    );
    return 1;
  }
  const libraries = await librariesFor(expected);
  const explained = explanationOf(answer, expected, command.wallNowMs, libraries);
  const shown = { ...jsonOfSaid(explained.said), ...explained.explanation };
  out(json ? `${JSON.stringify(shown, undefined, 2)}\n` : describe(explained));
  return 0;
}

/** `draws`: on these budgets, where there are several. */
type Expected = Pick<Upstream, "expect"> & Partial<Upstream> & { readonly draws?: readonly Draw[] };

async function expectationOf({ upstream, ...io }: ExplainCommand): Promise<Expected | undefined> {
  if (upstream === undefined) return { expect: USUAL };
  const loaded = await loadOrRefuse(io, "structure");
  if (loaded === undefined) return undefined;
  const { upstreams } = loaded.config;
  const found = upstreams.find(({ name }) => name === upstream);
  if (found !== undefined) return { ...found, draws: drawsOn(found.budgets, loaded.config) };
  const known = listing(upstreams.map(({ name }) => name));
  io.err(`cannot explain: "--upstream" must be one of ${known}, received ${upstream}\n`);
  return undefined;
}

async function read(file: string, err: (text: string) => void): Promise<Uint8Array | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    err(`cannot explain: ${file} must be a readable file: ${fileProblem(error)}\n`);
    return undefined;
  }
}

type Answered = Extract<Exchange, { readonly kind: "answered" }>;
type Saved = { readonly head: AnswerHead; readonly body: Uint8Array };

/** A status line, headers and an empty line. */
const HEAD = /HTTP\/\d(?:\.\d)? (\d{3})(?: (.*))?(?:\r?\n|$)((?:.+(?:\r?\n|$))*)(?:\r?\n)?/y;

/** The last answer of the file: before it, a proxy, a 100 or a redirect may have answered. */
function parseAnswer(bytes: Uint8Array): Saved | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  let answer: Saved | undefined;
  HEAD.lastIndex = 0;
  for (let found = HEAD.exec(text); found !== null; found = HEAD.exec(text)) {
    const [, status, reasonPhrase = "", lines = ""] = found;
    const headers = [...lines.matchAll(/^([^:\r\n]+):(.*)$/gm)].map(
      ([, name = "", value = ""]) => [name.trim().toLowerCase(), value.trim()] as const,
    );
    const head = { status: Number(status), reasonPhrase, headers };
    answer = { head, body: bytes.subarray(HEAD.lastIndex) };
  }
  return answer === undefined ? undefined : { ...answer, body: decoded(answer) };
}

/** With `--compressed`, curl has decoded it already, and leaves the header. */
function decoded({ head, body }: Saved): Uint8Array {
  const result = decodeBody(body, headerValue(head.headers, "content-encoding"), USUAL.maxBodyBytes);
  return result.kind === "decoded" ? result.body : body;
}

/** As if all of it had come at once. */
function readAs(reading: BodyReading | undefined, body: Uint8Array): Pick<Answered, "body" | "stream"> {
  if (reading === undefined) return { body };
  const fold = reading.open(0);
  fold.add(body, 0);
  fold.finish(0);
  return { body: fold.events === 0 ? body : fold.last, stream: fold.read };
}

type Explained = ReturnType<typeof explanationOf>;
type Explanation = Explained["explanation"];

/** `said`: what was read in it. */
function explanationOf(
  { head, body }: Saved,
  { draws = [], ...asked }: Expected,
  wallNowMs: number,
  libraries: Libraries,
) {
  // A saved answer is judged as of the moment at which it was sent, if it says when.
  const atMs = parseHttpDate(headerValue(head.headers, "date") ?? "", wallNowMs) ?? wallNowMs;
  const exchange = { kind: "answered", head, ...readAs(bodyReadingOf(asked), body) } as const;
  const observation = {
    exchange,
    durationMs: 0,
    phasesMs: {},
    certificateExpiresAtMs: undefined,
    withoutKeys: String,
  };
  const answer = new Answer(asked, observation, atMs);
  const { outcome, detail, words, said } = judgeAnswer(answer, judgingOf(asked, libraries));
  const hints = HINTS.of(said);
  const explanation = {
    status: head.status,
    outcome: outcome.kind,
    reason: outcome.reason,
    detail,
    words: words === undefined ? undefined : oneLine(words, MOST_WORDS),
    pause: hints?.pause,
    throttled: hints?.throttled === true,
    // For whose limit it is taken, where the upstream draws on several.
    budgets:
      hints === undefined || draws.length < 2
        ? []
        : [...concernOf(draws, hints).held].map(([budget, why]) => ({ budget, because: WHY[why] })),
    limits: limitsOf(hints?.families ?? []),
    remaining: hints?.remaining,
    malformed: hints?.malformed ?? 0,
  };
  return { explanation, said };
}

function describe({ explanation, said }: Explained): string {
  const { outcome, reason, detail, words, malformed } = explanation;
  const lines: (readonly [string, string])[] = [
    ["outcome", reason === "" ? outcome : `${outcome}: ${reason}`],
    ["because", detail],
    ...(words === undefined ? [] : [["words", `"${words}"`] as const]),
    ...linesOfSaid(said),
    ["pause", pauseSentence(explanation)],
    ...explanation.budgets.map(
      ({ budget, because }) => ["whose", `the limit of budget ${budget}: ${because}`] as const,
    ),
    ["limits", limitsSentence(explanation)],
    ...(malformed === 0
      ? []
      : [["malformed", `${malformed} of its signals cannot be read or make no sense`] as const]),
  ];
  return lines.map(([name, text]) => `${name.padEnd(10)} ${text}\n`).join("");
}

const SOURCES: Readonly<Record<NonNullable<AnswerHints["pause"]>["source"], string>> = {
  retry_after: "it says when to come back",
  rate_limit: "a limit of it is used up until then",
  credit_spent: "credit is used up, and it does not say until when",
};

function pauseSentence({ pause, throttled }: Explanation): string {
  if (pause !== undefined && pause.forMs > 0) {
    const scope = pause.scope === "budget" ? "all upstreams of the budget" : "this upstream";
    return `${humanDuration(pause.forMs)} (at most max_pause) for ${scope}: ${SOURCES[pause.source]}`;
  }
  return throttled
    ? "it does not say when: the budget backs off by itself, from one window, doubled each time"
    : "none";
}

function limitsSentence({ limits, remaining }: Explanation): string {
  const told = limits.map(
    ({ requests, perMs }) => `${requests}${perMs === undefined ? "" : ` per ${humanDuration(perMs)}`}`,
  );
  const left = remaining === undefined ? [] : [`${remaining.requests} left`];
  const reset = remaining?.resetMs === undefined ? [] : [`reset in ${humanDuration(remaining.resetMs)}`];
  const all = [...told, ...left, ...reset];
  return all.length === 0 ? "none told" : all.join(", ");
}

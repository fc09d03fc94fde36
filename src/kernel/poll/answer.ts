import { isExpected, type Upstream } from "../config/config.ts";
import type {
  AnswerHead,
  Exchange,
  Observation,
  StreamPart,
  StreamRead,
  WithoutKeys,
} from "../exchange/exchange.ts";
import { type JsonBody, readJson } from "../exchange/json-body.ts";
import { type Field, field } from "../text/field.ts";

/** The parts of an upstream by which its answers are judged. */
export type AskedUpstream = Pick<Upstream, "expect"> & Partial<Upstream>;

/** Whatever an operator expects, these are refusals. */
const ALWAYS_REFUSED: ReadonlySet<number> = new Set([402, 429]);

const NO_HEAD: AnswerHead = { status: 0, reasonPhrase: "", headers: [] };
const NOTHING = new Uint8Array();

/** An answer, or what there is in place of one. What is found in it is found once, however many ask, and only if anybody does. */
export class Answer {
  readonly upstream: AskedUpstream;
  readonly observation: Observation;
  /** When the poll ended. Wall clock. */
  readonly endedAtMs: number;
  readonly isExpected: boolean;
  #json: Map<StreamPart, JsonBody> | undefined;
  readonly #found: Record<string, unknown> = {};

  constructor(upstream: AskedUpstream, observation: Observation, endedAtMs: number) {
    this.upstream = upstream;
    this.observation = observation;
    this.endedAtMs = endedAtMs;
    const { status } = this.head;
    this.isExpected = isExpected(upstream.expect, status) && !ALWAYS_REFUSED.has(status);
  }

  get exchange(): Exchange {
    return this.observation.exchange;
  }

  get withoutKeys(): WithoutKeys {
    return this.observation.withoutKeys;
  }

  /** Its status is 0 where none came. */
  get head(): AnswerHead {
    return this.exchange.head ?? NO_HEAD;
  }

  get stream(): StreamRead | undefined {
    return this.exchange.kind === "answered" ? this.exchange.stream : undefined;
  }

  /** Its body, or a part of a stream: of a stream the last event, unless it is said. */
  bytes(of: StreamPart = "last"): Uint8Array {
    const { exchange, stream } = this;
    if (exchange.kind === "broken") return NOTHING;
    return stream === undefined || of === "last" ? exchange.body : (stream[of] ?? NOTHING);
  }

  /** What is not UTF-8 is replaced. */
  text(of?: StreamPart): string {
    return new TextDecoder().decode(this.bytes(of));
  }

  json(of: StreamPart = "last"): JsonBody {
    const parsed = (this.#json ??= new Map());
    const known = parsed.get(of) ?? readJson(this.bytes(of));
    parsed.set(of, known);
    return known;
  }

  find<Found>(what: Field<Found>, find: Find<Found>): Found {
    const known = what.of(this.#found);
    if (known !== undefined) return known;
    const found = find(this);
    this.#found[what.name] = found;
    return found;
  }
}

export type Find<Found> = (answer: Answer) => Found;

export function foundOnce<Found>(name: string, find: Find<Found>): Find<Found> {
  const what = field<Found>(name);
  return (answer) => answer.find(what, find);
}

/** An AI router's completions: what a request asks for, how it is answered, and what that costs. */

import type { Limit } from "./meters.ts";

export type Model = {
  readonly id: string;
  /** Its own limits: the upstream's hold too. */
  readonly limits?: readonly Limit[];
  /** A million tokens cost so much, whether they were asked or answered. */
  readonly millionTokensCost?: number;
  /** From one token of a stream to the next. */
  readonly tokenMs?: number;
};

export type Completion = {
  readonly model: Model;
  readonly promptTokens: number;
  readonly maxTokens: number;
  readonly isStream: boolean;
};

/** One event of a stream, and how many tokens are in it. */
export type SimulatedEvent = { readonly text: string; readonly tokens: number };

export const COMPLETIONS_PATH = "/v1/chat/completions";

const TOKEN_BYTES = 4;
const USUAL_TOKENS = 8;
const MOST_TOKENS = 10_000;
const END: SimulatedEvent = { text: "data: [DONE]\n\n", tokens: 0 };

/** The name of the model is returned where there is no such model. */
export function readCompletion(body: Buffer, models: readonly Model[]): Completion | string {
  const { model: id, max_tokens: maxTokens, stream } = objectIn(body);
  const model = models.find((each) => each.id === id);
  if (model === undefined) return typeof id === "string" ? id : "";
  return {
    model,
    promptTokens: Math.ceil(body.byteLength / TOKEN_BYTES),
    maxTokens: typeof maxTokens === "number" ? Math.min(maxTokens, MOST_TOKENS) : USUAL_TOKENS,
    isStream: stream === true,
  };
}

function objectIn(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    return { ...JSON.parse(body.toString()) };
  } catch {
    return {};
  }
}

export function completed(completion: Completion): string {
  const message = { role: "assistant", content: "ok ".repeat(completion.maxTokens).trimEnd() };
  return JSON.stringify({
    id: "completion-1",
    object: "chat.completion",
    model: completion.model.id,
    choices: [{ index: 0, message, finish_reason: "length" }],
    usage: usageOf(completion),
  });
}

/** The role at once, then token by token, then what was used. */
export function eventsOf(completion: Completion): readonly SimulatedEvent[] {
  const event = (choice: object, tokens: number, more?: object): SimulatedEvent => {
    const choices = [{ index: 0, ...choice }];
    const chunk = { object: "chat.completion.chunk", model: completion.model.id, choices, ...more };
    return { text: `data: ${JSON.stringify(chunk)}\n\n`, tokens };
  };
  return [
    event({ delta: { role: "assistant", content: "" } }, 0),
    ...Array.from({ length: completion.maxTokens }, () => event({ delta: { content: "ok " } }, 1)),
    event({ delta: {}, finish_reason: "length" }, 0, { usage: usageOf(completion) }),
    END,
  ];
}

function usageOf({ promptTokens, maxTokens }: Completion): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: maxTokens,
    total_tokens: promptTokens + maxTokens,
  };
}

export type Bill = { readonly completions: number; readonly tokens: number; readonly cost: number };

const NOTHING: Bill = { completions: 0, tokens: 0, cost: 0 };

/** Each model has cost so much. Who leaves before the answer pays for it all the same, but not for tokens that no stream sent. */
export class Billing {
  readonly #bills = new Map<string, Bill>();

  charge({ id, millionTokensCost = 0 }: Model, completions: number, tokens: number): void {
    const bill = this.of(id);
    const all = bill.tokens + tokens;
    this.#bills.set(id, {
      completions: bill.completions + completions,
      tokens: all,
      cost: (all * millionTokensCost) / 1_000_000,
    });
  }

  of(model: string): Bill {
    return this.#bills.get(model) ?? NOTHING;
  }

  get cost(): number {
    return [...this.#bills.values()].reduce((sum, { cost }) => sum + cost, 0);
  }
}

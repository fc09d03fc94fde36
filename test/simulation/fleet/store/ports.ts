import type { BeatAnswer, ClaimAnswer, FleetBoard, ReleaseAnswer } from "../../../../src/core/fleet/board.ts";
import type { StoreStep } from "./server.ts";
import type { StoreRoute } from "./route.ts";
import type { StoreMemory } from "./memory.ts";

type Way = StoreRoute<StoreMemory>;

/** The board as one replica reaches it. `onClaimed` hears what was claimed, also where the answer is lost. */
export function boardOver(way: Way, onClaimed: (upstreams: readonly string[]) => void): FleetBoard {
  const ask = async <Answer>(
    step: StoreStep<StoreMemory, Answer>,
    observe?: (answer: Answer) => void,
  ): Promise<Answer | { readonly kind: "away" }> => {
    const reply = await way.ask(step, observe);
    return reply.kind === "answered" ? reply.answer : reply;
  };
  return {
    beat: (request): Promise<BeatAnswer> => ask(({ board }, time) => board.beat(time, request)),
    claim: (request): Promise<ClaimAnswer> =>
      ask(
        ({ board }, time) => board.claim(time, request),
        (answer) => {
          if (answer.kind === "claimed") onClaimed(answer.claimed.map(({ upstream }) => upstream));
        },
      ),
    release: (request): Promise<ReleaseAnswer> => ask(({ board }, time) => board.release(time, request)),
    publish: async (entries) => {
      const { kind } = await way.ask(({ published }) => {
        for (const [key, text] of entries) published.set(key, text);
      });
      return kind === "answered";
    },
    published: async () => {
      const reply = await way.ask(({ published }): ReadonlyMap<string, string> => new Map(published));
      return reply.kind === "answered" ? reply.answer : undefined;
    },
  };
}

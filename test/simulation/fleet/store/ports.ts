import type { FleetBoard } from "../../../../src/core/fleet/board.ts";
import type { StoreStep } from "./server.ts";
import type { StoreRoute } from "./route.ts";
import type { StoreMemory } from "./memory.ts";

type Way = StoreRoute<StoreMemory>;

/** The board as one replica reaches it. `onClaimed` hears what was claimed, also where the answer is lost. */
export function boardOver(way: Way, onClaimed: (names: readonly string[]) => void): FleetBoard {
  const ask = async <Answer>(
    step: StoreStep<StoreMemory, Answer>,
    observe?: (answer: Answer) => void,
  ): Promise<Answer | { readonly kind: "away" }> => {
    const reply = await way.ask(step, observe);
    return reply.kind === "answered" ? reply.answer : reply;
  };
  return {
    beat: (request) => ask(({ board }, time) => board.beat(time, request)),
    claim: (request) =>
      ask(
        ({ board }, time) => board.claim(time, request),
        (answer) => {
          if (answer.kind === "claimed") onClaimed(answer.claimed.map(({ name }) => name));
        },
      ),
    release: (request) => ask(({ board }, time) => board.release(time, request)),
    tell: async (news) => {
      const { kind } = await way.ask(({ board }, time) => board.tell(time, news));
      return kind === "answered";
    },
    records: async () => {
      const reply = await way.ask(({ board }, time) => board.records(time));
      return reply.kind === "answered" ? reply.answer : undefined;
    },
    draw: (request) => ask(({ board }) => board.draw(request)),
  };
}

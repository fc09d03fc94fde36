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
  ): Promise<Answer | undefined> => {
    const reply = await way.ask(step, observe);
    return reply.kind === "answered" ? reply.answer : undefined;
  };
  return {
    beat: (request) => ask(({ board }, time) => board.beat(time, request)),
    claim: (request) =>
      ask(
        ({ board }, time) => board.claim(time, request),
        (answer) => {
          if (answer !== undefined) onClaimed(answer.map(({ name }) => name));
        },
      ),
    release: async (request) => (await ask(({ board }, time) => board.release(time, request))) === true,
    tell: async (news) => (await ask(({ board }, time) => board.tell(time, news))) === true,
    records: () => ask(({ board }) => board.records()),
    count: (request) => ask(({ board }) => board.count(request)),
  };
}

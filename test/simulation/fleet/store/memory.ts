import { BoardModel } from "../../../models/board.ts";

export type Board = Pick<BoardModel, "beat" | "claim" | "release" | "tell" | "records" | "count">;

/** All that the store keeps: the model that its scripts are tested against. */
export type StoreMemory = { readonly board: Board };

export function openMemory(): StoreMemory {
  return { board: new BoardModel() };
}

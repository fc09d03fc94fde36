import { expect, test } from "vitest";
import { Journal } from "../../../src/features/quota/journal.ts";
import type { Note } from "../../../src/kernel/text/notes.ts";
import { heldNote, NOTHING_HELD } from "../../../src/features/hints/record.ts";
import { quotasKept } from "../../support/kept-quotas.ts";
import { sampleQuotaNote } from "../../support/samples.ts";
import { settle } from "../../support/virtual/clock.ts";

class Home {
  readonly writes: (readonly Note[])[] = [];
  readonly #answers: ((isWritten: boolean) => void)[] = [];

  write(notes: readonly Note[]): Promise<boolean> {
    this.writes.push(notes);
    return new Promise((resolve) => void this.#answers.push(resolve));
  }

  async answer(isWritten = true): Promise<void> {
    this.#answers.shift()?.(isWritten);
    await settle();
  }

  /** In each write. */
  get requests(): readonly (readonly unknown[])[] {
    return this.writes.map((notes) =>
      notes.map((note) => quotasKept({ notes: [note] }).rows[0]?.requests ?? note.key),
    );
  }
}

function opened(): { home: Home; journal: Journal; put: (requests: number, day?: number) => void } {
  const home = new Home();
  const journal = new Journal(home);
  const put = (requests: number, day = 1): void => journal.put(sampleQuotaNote({ requests, hour: day * 24 }));
  return { home, journal, put };
}

test("what is put in one turn is one write, and the last note of a day stands for those before it", async () => {
  const { home, journal, put } = opened();
  put(1);
  put(2);
  put(7, 2);
  journal.put(heldNote("api", NOTHING_HELD));
  const waiting = [journal.written(), journal.written()];
  await settle();
  expect(home.requests).toEqual([[2, 7, "api"]]);
  await home.answer();
  expect(await Promise.all(waiting)).toEqual([true, true]);
});

test("what is put while a write is under way waits for the next one, all of it together", async () => {
  const { home, journal, put } = opened();
  put(1);
  await settle();
  let isWritten = false;
  for (const requests of [2, 3, 4]) {
    put(requests);
    void journal.written().then(() => (isWritten = true));
    await settle();
  }
  await home.answer();
  expect([home.requests, isWritten]).toEqual([[[1], [4]], false]);
  await home.answer();
  expect(isWritten).toBe(true);
});

test("what was not written is written with the next note, as it is by then", async () => {
  const { home, journal, put } = opened();
  put(1);
  put(5, 2);
  const first = journal.written();
  await settle();
  await home.answer(false);
  expect(await first).toBe(false);
  put(2);
  const next = journal.written();
  await settle();
  await home.answer();
  expect([await next, home.requests]).toEqual([
    true,
    [
      [1, 5],
      [2, 5],
    ],
  ]);
});

test("a note that is there already is not written again, unless a write failed since", async () => {
  const { home, journal, put } = opened();
  put(1);
  await settle();
  await home.answer();
  put(2);
  put(1);
  expect(await journal.written()).toBe(true);
  expect(home.writes).toHaveLength(1);
  put(2);
  await settle();
  await home.answer(false);
  put(1);
  await settle();
  expect(home.requests).toEqual([[1], [2], [1]]);
});

test("a home that breaks is told to whoever waits, and what it was to write is written next", async () => {
  const { home, journal, put } = opened();
  const write = home.write.bind(home);
  home.write = () => Promise.reject(new Error("a bug"));
  put(1);
  await expect(journal.written()).rejects.toThrow("a bug");
  home.write = write;
  const next = journal.written();
  await settle();
  await home.answer();
  expect([await next, home.requests]).toEqual([true, [[1]]]);
});

import { request } from "node:http";
import { hashSync } from "bcryptjs";
import { expect, test } from "vitest";
import { openServer } from "../open-server.ts";

const GUESSERS = 12;
const SCRAPES = 15;
const USERS = new Map([["prometheus", hashSync("test-password", 6)]]);

/** On a connection of its own, as each scrape of another process is. */
function statusFor(url: string, password: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const headers = { Authorization: `Basic ${btoa(`prometheus:${password}`)}` };
  request(`${url}/metrics`, { agent: false, headers }, (answer) => {
    answer.resume();
    answer.once("end", () => resolve(answer.statusCode ?? 0));
  })
    .once("error", reject)
    .end();
  return promise;
}

test("twelve who guess at a scraper's own address, all the time, keep it out of no scrape", async () => {
  const server = await openServer({
    webConfig: {
      read: () => Promise.resolve({ kind: "opened", what: { tls: undefined, headers: {}, users: USERS } }),
      hasChanged: () => Promise.resolve(false),
    },
  });
  const over = new AbortController();
  const guessed: number[] = [];
  const guessers = Array.from({ length: GUESSERS }, async (_, guesser) => {
    for (let guess = 0; !over.signal.aborted; guess += 1)
      guessed.push(await statusFor(server.url, `guess ${guesser} ${guess}`));
  });
  while (guessed.length < GUESSERS) await new Promise((resolve) => setImmediate(resolve));
  const scrapes: number[] = [];
  for (let scrape = 0; scrape < SCRAPES; scrape += 1)
    scrapes.push(await statusFor(server.url, "test-password"));
  over.abort();
  await Promise.all(guessers);
  expect(scrapes).toEqual(Array(SCRAPES).fill(200));
  expect(new Set(guessed)).toEqual(new Set([401]));
});

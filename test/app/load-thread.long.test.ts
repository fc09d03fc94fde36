import { expect, test } from "vitest";
import { load } from "../../src/app/features/sections.ts";
import { loadInThread } from "../../src/app/load-thread.ts";
import { ConfigDirectory, withUpstream } from "../config/config-file.ts";

const KEYED = withUpstream("auth: { bearer: { env: KEY } }");
const ENVIRONMENT = { KEY: "test-key-thread" };

test.each([
  ["that can be used", KEYED, ENVIRONMENT],
  ["whose key is missing", KEYED, {}],
  ["with a fault in it", withUpstream("every: 7s"), {}],
  ["that is no YAML", "budgets: [", {}],
])("a config %s is read as on the spot", async (_, text, environment: Record<string, string>) => {
  await using directory = await ConfigDirectory.create();
  const path = await directory.write(text);
  expect(await loadInThread(path, environment)).toEqual(await load(path, { environment }));
});

test("a file that is not there is told as on the spot", async () => {
  await using directory = await ConfigDirectory.create();
  const loading = await loadInThread(directory.file(), {});
  expect(loading.kind).toBe("refused");
  expect(loading).toEqual(await load(directory.file(), { environment: {} }));
});

test("others have their turns while a thousand upstreams are read", async () => {
  const upstreams = Array.from({ length: 1_000 }, (_, index) => ({
    name: `api-${index}`,
    base_url: "https://api.example.test",
    auth: { none: true },
    budget: `budget-${index}`,
    every: "10s",
  }));
  const budgets = Object.fromEntries(
    upstreams.map(({ budget }) => [budget, { rate: { requests: 1_000, per: "1m" } }]),
  );
  await using directory = await ConfigDirectory.create();
  const path = await directory.write(JSON.stringify({ budgets, upstreams }));
  let turns = 0;
  const counting = setInterval(() => (turns += 1), 1);
  const loading = await loadInThread(path, {});
  clearInterval(counting);
  expect(loading.kind === "loaded" && loading.config.upstreams.length).toBe(1_000);
  // On the spot it would be one or two.
  expect(turns).toBeGreaterThan(30);
});

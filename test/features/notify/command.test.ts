import { pageUrlOf } from "../../../src/app/features/page-url.ts";
import { expect, test } from "vitest";
import { notify } from "../../../src/features/notify/command.ts";
import { check } from "../../../src/commands/check.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { Receiving } from "../../support/notify/receiving.ts";
import { load } from "../../../src/app/features/sections.ts";

type Printed = { readonly code: number; readonly out: string; readonly err: string };

const RECEIVERS = [
  { name: "hook", kind: "webhook", url: { env: "HOOK_URL" }, key: { env: "HOOK_KEY" } },
  { name: "chat", kind: "slack", url: { env: "CHAT_URL" } },
];

async function printed(
  receivers: readonly object[],
  environment: Record<string, string>,
  run: (io: {
    load: typeof load;
    configPath: string;
    environment: Record<string, string>;
    out: (text: string) => void;
    err: (text: string) => void;
    userAgent: string;
  }) => Promise<number>,
  more: object = {},
): Promise<Printed> {
  await using folder = await openConfigFolder({
    ...more,
    ...(receivers.length > 0 && { notify: receivers }),
    budgets: { api: { rate: { requests: 6000, per: "1m" } } },
    upstreams: [rawUpstream("email", "https://email.example.test", { every: "30s" })],
  });
  let [out, err] = ["", ""];
  const io = {
    load,
    configPath: folder.path,
    environment,
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
    userAgent: "pacewatch-test",
  };
  return { code: await run(io), out, err };
}

const wallNowMs = 1_790_000_000_000;

test("a sample is sent to all receivers or to one, with its end, and what came back is said", async () => {
  await using receiving = await Receiving.open();
  receiving.answer = (response, { path }) => response.writeHead(path === "/hook" ? 204 : 403).end();
  const environment = {
    HOOK_URL: `${receiving.url}/hook`,
    HOOK_KEY: "test-key-of-hook",
    CHAT_URL: `${receiving.url}/chat`,
  };
  const all = await printed(RECEIVERS, environment, (io) =>
    notify({ ...io, name: undefined, isDry: false, wallNowMs, pageUrlOf }),
  );
  expect(all).toEqual({
    code: 1,
    out: [
      "hook: down delivered: it answered 204",
      "hook: up delivered: it answered 204",
      "chat: down failed: it answered 403",
      "chat: up failed: it answered 403",
      "",
    ].join("\n"),
    err: "",
  });
  const one = await printed(RECEIVERS, environment, (io) =>
    notify({ ...io, name: "hook", isDry: false, wallNowMs, pageUrlOf }),
  );
  expect(one.code).toBe(0);
  expect(receiving.received.map(({ path }) => path)).toEqual(
    "/hook /hook /chat /chat /hook /hook".split(" "),
  );
});

test("a dry run needs no secret, shows none and sends nothing", async () => {
  const dry = await printed(RECEIVERS, {}, (io) =>
    notify({ ...io, name: undefined, isDry: true, wallNowMs, pageUrlOf }),
  );
  expect(dry).toMatchObject({ code: 0, err: "" });
  expect(dry.out).toContain("hook: POST <url>\n");
  expect(dry.out).toContain("X-Pacewatch-Signature: sha256=");
  expect(dry.out).toContain('"title":"A test of Pacewatch"');
});

test.each([
  ["https://page.example.test/", "http://10.0.0.7:10429", "https://page.example.test/"],
  [undefined, "http://10.0.0.7:10429/", "http://10.0.0.7:10429/"],
  [undefined, undefined, undefined],
])("messages link to the page for people, %s, before that of the process, %s", async (page, own, shown) => {
  const redis = { url: "redis://127.0.0.1:6379" };
  const config = {
    ...(page && { web: { page_url: page } }),
    ...(own && { fleet: { lock: { redis }, advertise: own } }),
  };
  const dry = await printed(
    RECEIVERS,
    {},
    (io) => notify({ ...io, name: "hook", isDry: true, wallNowMs, pageUrlOf }),
    config,
  );
  expect(dry).toMatchObject({ code: 0, err: "" });
  expect(dry.out).toContain(`"url":${JSON.stringify(shown ?? null)}}`);
});

test("without receivers, or without the one that is named, nothing is sent", async () => {
  const none = await printed([], {}, (io) =>
    notify({ ...io, name: undefined, isDry: true, wallNowMs, pageUrlOf }),
  );
  expect(none).toEqual({ code: 1, out: "", err: "the config has no notify\n" });
  const other = await printed(RECEIVERS, {}, (io) =>
    notify({ ...io, name: "ops", isDry: true, wallNowMs, pageUrlOf }),
  );
  expect(other).toEqual({ code: 1, out: "", err: 'notify has no receiver "ops": there are hook, chat\n' });
});

test("check names receivers that never can be told, and what it costs that nobody remembers", async () => {
  const receivers = [
    { name: "a", kind: "slack", url: { env: "URL" }, only: { upstreams: ["sms"] } },
    { name: "b", kind: "slack", url: { env: "URL" }, only: { labels: { team: "growth" } } },
    { name: "c", kind: "slack", url: { env: "URL" }, only: { upstreams: ["email"] }, on: ["offline"] },
    { name: "d", kind: "slack", url: { env: "URL" }, only: { upstreams: ["email", "emial"] } },
  ];
  const { code, out } = await printed(receivers, { URL: "https://chat.example.test/test-key-1" }, (io) =>
    check({ ...io, json: false, secrets: true }),
  );
  expect(code).toBe(0);
  for (const name of ["a", "b", "c"])
    expect(out).toContain(`receiver "${name}" can never be told of anything`);
  expect(out).not.toContain('receiver "d" can never');
  expect(out).toContain('receiver "a" names "sms", which is no upstream of the config');
  expect(out).toContain('receiver "d" names "emial", which is no upstream of the config');
  expect(out).toContain("without state.path nobody remembers over a restart who was told what");
});

test("a URL that is none is refused, and not shown", async () => {
  const refused = await printed(
    RECEIVERS,
    { HOOK_URL: "core-of-hook-1", HOOK_KEY: "k", CHAT_URL: "http://a" },
    (io) => check({ ...io, json: false, secrets: true }),
  );
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('"notify[0].url" must hold an http:// or https:// URL');
  expect(refused.err).not.toContain("core-of-hook-1");
});

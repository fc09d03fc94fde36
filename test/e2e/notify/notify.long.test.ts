import { expect, test } from "vitest";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { type Received, Receiving } from "../../support/notify/receiving.ts";
import { startDaemon } from "../../support/processes/daemon.ts";

type Told = { readonly event: string; readonly incident: string; readonly upstream: string | null };

const told = ({ body }: Received): Told => JSON.parse(body) as Told;

test("down and up are told to each receiver, with one id, once over a kill; no secret is anywhere else", async () => {
  await using email = await startSimulatedUpstream({ name: "email" });
  await using router = await startSimulatedUpstream({ name: "router" });
  await using hook = await Receiving.open();
  await using chat = await Receiving.open();
  const fast = { group_wait: "100ms" };
  await using folder = await openConfigFolder({
    state: { path: "pacewatch.db" },
    web: { listen: "127.0.0.1:0", page_url: "https://pacewatch.example/" },
    notify: [
      { name: "hook", kind: "webhook", url: { env: "HOOK_URL" }, key: { env: "HOOK_KEY" }, ...fast },
      { name: "chat", kind: "slack", url: { env: "CHAT_URL" }, ...fast },
    ],
    budgets: { api: { rate: { requests: 6000, per: "1m" }, share: "50%" } },
    upstreams: [rawUpstream("email", email.url), rawUpstream("router", router.url)],
  });
  const secrets = { path: "core-of-hook-77aa01", key: "test-key-sign-4c1d", chat: "core-of-chat-9911ff" };
  const environment = {
    HOOK_URL: `${hook.url}/${secrets.path}`,
    HOOK_KEY: secrets.key,
    CHAT_URL: `${chat.url}/services/${secrets.chat}`,
  };
  const first = await startDaemon({ configPath: folder.path, environment });
  await eventually(
    "both are up",
    async () => (await first.get("/")).body,
    (page) => page.includes("Both upstreams are up"),
  );
  email.setFault({ kind: "status", code: 503 });
  const [down] = await hook.until(1);
  await chat.until(1);
  expect(down?.path).toBe(`/${secrets.path}`);
  expect(down?.headers["x-pacewatch-signature"]).toMatch(/^sha256=[0-9a-f]{64}$/);
  expect(down && told(down)).toMatchObject({ event: "down", upstream: "email", side: "them" });
  await eventually(
    "the state file has it",
    async () => (await first.get("/metrics")).body,
    (text) => text.includes('pacewatch_notifications_total{receiver="hook",outcome="delivered"} 1'),
  );
  // Twice as long as a batch may wait.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  first.kill("SIGKILL");
  await first.exited;

  await using second = await startDaemon({ configPath: folder.path, environment });
  await eventually(
    "it is polled",
    async () => (await second.get("/api/v1/upstreams/email")).body,
    (text) => text.includes('"state":"down"'),
  );
  email.setFault(undefined);
  const [, up] = await hook.until(2);
  await chat.until(2);
  expect(up && told(up)).toMatchObject({ event: "up", incident: down && told(down).incident });
  expect([hook.received.length, chat.received.length]).toEqual([2, 2]);
  const seen = [
    first.stdout,
    second.stdout,
    (await second.get("/metrics")).body,
    (await second.get("/api/v1/config")).body,
    (await second.get("/")).body,
  ].join("\n");
  for (const secret of Object.values(secrets)) expect(seen).not.toContain(secret);
  expect(seen).toContain("receiver notified");
});

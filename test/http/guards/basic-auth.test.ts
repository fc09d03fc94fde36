import { startThread } from "../../../src/adapters/thread.ts";
import { hashSync } from "bcryptjs";
import { Hono } from "hono";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  basicAuth,
  type PasswordChecker,
  type PasswordVerdict,
  type Users,
} from "../../../src/http/guards/basic-auth.ts";
import type { HttpEnv } from "../../../src/http/guards/guard.ts";
import { PasswordChecks } from "../../../src/http/guards/password-checks.ts";

const HASH = hashSync("test-password", 4);
const OTHER = hashSync("test-password-2", 4);

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

/** Counts what bcrypt would have to do; `test-password` is right wherever it is compared. */
class CountingChecker implements PasswordChecker {
  readonly hashes: string[] = [];
  verdict: PasswordVerdict | undefined;

  check(password: string, hash: string): Promise<PasswordVerdict> {
    this.hashes.push(hash);
    return Promise.resolve(this.verdict ?? (password === "test-password" ? "match" : "mismatch"));
  }
}

type Door = {
  readonly checker: CountingChecker;
  readonly ask: (authorization?: string, path?: string) => Promise<Response>;
};

function aDoor(users: () => Users): Door {
  const checker = new CountingChecker();
  const app = new Hono<HttpEnv>();
  app.use(basicAuth(users, checker));
  app.get("*", (c) => c.text("inside"));
  const ask = async (authorization?: string, path = "/metrics"): Promise<Response> =>
    app.request(path, authorization === undefined ? {} : { headers: { Authorization: authorization } });
  return { checker, ask };
}

const aliceAndBob = (): Users =>
  new Map([
    ["alice", HASH],
    ["bob", OTHER],
  ]);

describe("a server with users", () => {
  test("is open to all while no users are named", async () => {
    const { ask, checker } = aDoor(() => new Map());
    expect((await ask()).status).toBe(200);
    expect(checker.hashes).toEqual([]);
  });

  test("says how to knock", async () => {
    const answer = await aDoor(aliceAndBob).ask();
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe('Basic realm="pacewatch", charset="UTF-8"');
    expect(await answer.text()).toBe("unauthorized\n");
  });

  test.each(["/-/healthy", "/-/ready"])("leaves %s to an orchestrator that has no password", async (path) => {
    expect((await aDoor(aliceAndBob).ask(undefined, path)).status).toBe(200);
  });

  test.each(["/-/healthy/", "/-/reload", "/", "/nope", "/-/healthy%2f..", "/-//healthy"])(
    "is closed at %s",
    async (path) => expect((await aDoor(aliceAndBob).ask(undefined, path)).status).toBe(401),
  );

  test.each([
    "",
    "Basic",
    "Basic !!!",
    `Basic ${btoa("alice")}`,
    `Bearer ${btoa("alice:test-password")}`,
    `Basic ${btoa("alice:test-password")}, Basic x`,
  ])("takes %j for no credentials, at no cost", async (authorization) => {
    const { ask, checker } = aDoor(aliceAndBob);
    expect((await ask(authorization)).status).toBe(401);
    expect(checker.hashes).toEqual([]);
  });

  test("checks a right password once, and remembers it for that user only", async () => {
    const { ask, checker } = aDoor(aliceAndBob);
    for (let count = 0; count < 5; count += 1)
      expect((await ask(basic("alice", "test-password"))).status).toBe(200);
    expect(checker.hashes).toEqual([HASH]);
    expect((await ask(basic("alice", "test-password "))).status).toBe(401);
    expect((await ask(basic("bob", "test-password"))).status).toBe(200);
    expect(checker.hashes).toEqual([HASH, HASH, OTHER]);
  });

  test("forgets a password when the user's hash changes or the user goes", async () => {
    let users = aliceAndBob();
    const { ask, checker } = aDoor(() => users);
    await ask(basic("alice", "test-password"));
    users = new Map([["alice", OTHER]]);
    await ask(basic("alice", "test-password"));
    expect(checker.hashes).toEqual([HASH, OTHER]);
    users = new Map([["bob", OTHER]]);
    expect((await ask(basic("alice", "test-password"))).status).toBe(401);
  });

  test("makes an unknown user cost what a known one does, and never lets it in", async () => {
    const { ask, checker } = aDoor(aliceAndBob);
    for (let count = 0; count < 3; count += 1)
      expect((await ask(basic("mallory", "test-password"))).status).toBe(401);
    expect(checker.hashes.length).toBe(3);
    expect(new Set(checker.hashes).size).toBe(1);
    expect([HASH, OTHER]).toContain(checker.hashes[0]);
  });

  test("asks to come back when too many passwords wait", async () => {
    const { ask, checker } = aDoor(aliceAndBob);
    checker.verdict = "busy";
    const answer = await ask(basic("alice", "test-password"));
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    checker.verdict = undefined;
    expect((await ask(basic("alice", "test-password"))).status).toBe(200);
  });

  test("knows passwords with colons and letters of any script", async () => {
    const seen: string[] = [];
    const checker: PasswordChecker = {
      check: (password) => {
        seen.push(password);
        return Promise.resolve("match");
      },
    };
    const app = new Hono<HttpEnv>();
    app.use(basicAuth(() => new Map([["zoë", HASH]]), checker));
    app.get("*", (c) => c.text("inside"));
    const answer = await app.request("/", { headers: { Authorization: basic("zoë", "a:b:ç") } });
    expect([answer.status, seen]).toEqual([200, ["a:b:ç"]]);
  });
});

describe("password checks", () => {
  function checksWith(
    maxWaiting = 32,
    maxWaitingPerClient = 4,
  ): { checks: PasswordChecks; warnings: string[] } {
    const warnings: string[] = [];
    const checks = new PasswordChecks(startThread, (message) => warnings.push(message), {
      maxWaiting,
      maxWaitingPerClient,
    });
    onTestFinished(() => checks[Symbol.asyncDispose]());
    return { checks, warnings };
  }

  test("tell right from wrong, also for hashes that htpasswd and others write", async () => {
    const { checks, warnings } = checksWith();
    for (const prefix of ["$2a$", "$2b$", "$2y$"]) {
      const hash = HASH.replace("$2b$", prefix);
      expect(await checks.check("test-password", hash, "a")).toBe("match");
      expect(await checks.check("test-passwore", hash, "a")).toBe("mismatch");
    }
    expect(warnings).toEqual([]);
  });

  test("leave the main thread free for the polls", async () => {
    const { checks } = checksWith();
    await checks.check("warm up", HASH, "a");
    const slow = hashSync("test-password", 11);
    const checking = checks.check("test-password", slow, "a");
    const usageBefore = performance.eventLoopUtilization();
    expect(await checking).toBe("match");
    const { utilization } = performance.eventLoopUtilization(usageBefore);
    expect(utilization).toBeLessThan(0.5);
  });

  test("turn away one client's flood and still serve another", async () => {
    const { checks } = checksWith(32, 4);
    const guesses = Array.from({ length: 20 }, (_, guess) =>
      checks.check(`guess ${guess}`, HASH, "10.0.0.1"),
    );
    const honest = checks.check("test-password", HASH, "10.0.0.2");
    const verdicts = await Promise.all(guesses);
    // One is at work already, and four wait.
    expect(verdicts.filter((verdict) => verdict === "mismatch").length).toBe(5);
    expect(verdicts.filter((verdict) => verdict === "busy").length).toBe(15);
    expect(await honest).toBe("match");
  });

  test("are bounded for all clients together", async () => {
    const { checks } = checksWith(6, 4);
    const verdicts = await Promise.all(
      Array.from({ length: 20 }, (_, client) => checks.check("guess", HASH, `10.0.0.${client}`)),
    );
    expect(verdicts.filter((verdict) => verdict === "busy").length).toBe(13);
  });

  test("that wait when it closes are answered, and so are those that come after", async () => {
    const { checks } = checksWith();
    const takesSeconds = HASH.replace("$04$", "$16$");
    const waiting = [1, 2, 3].map(() => checks.check("guess", takesSeconds, "a"));
    await checks[Symbol.asyncDispose]();
    expect(await Promise.all(waiting)).toEqual(["busy", "busy", "busy"]);
    expect(await checks.check("test-password", HASH, "a")).toBe("busy");
  });

  test("outlive their thread", async () => {
    const { checks, warnings } = checksWith();
    const notEvenText = null as never;
    expect(await checks.check("guess", notEvenText, "a")).toBe("busy");
    await vi.waitUntil(() => warnings.length > 0);
    expect(warnings[0]).toMatch(/^password check thread failed, a new one will be started: /);
    expect(await checks.check("test-password", HASH, "a")).toBe("match");
  });
});

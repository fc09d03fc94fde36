import { systemClock } from "../../../src/platform/clock.ts";
import { Thread } from "../../../src/platform/thread.ts";
import { hashSync } from "bcryptjs";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  basicAuth,
  type PasswordChecker,
  type PasswordQuestion,
  type PasswordVerdict,
  type Users,
} from "../../../src/http/guards/basic-auth.ts";
import { networkOf } from "../../../src/http/guards/network.ts";
import { type Guard, textAnswer } from "../../../src/http/guards/guard.ts";
import { requestTo } from "../../support/routes-to-ask.ts";
import { PasswordChecks } from "../../../src/http/guards/password-checks.ts";
import { eventually } from "../../support/eventually.ts";

const HASH = hashSync("test-password", 4);
const OTHER = hashSync("test-password-2", 4);

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

/** Counts what bcrypt would have to do; `test-password` is right wherever it is compared. */
class CountingChecker implements PasswordChecker {
  readonly hashes: string[] = [];
  verdict: PasswordVerdict | undefined;

  check({ password, hash }: PasswordQuestion): Promise<PasswordVerdict> {
    this.hashes.push(hash);
    return Promise.resolve(this.verdict ?? (password === "test-password" ? "match" : "mismatch"));
  }
}

type Door = {
  readonly checker: CountingChecker;
  readonly ask: (authorization?: string, path?: string) => Promise<Response>;
};

function askBehind(guard: Guard, authorization?: string, path = "/metrics"): Promise<Response> {
  return requestTo(
    async (request) => (await guard(request)) ?? textAnswer("inside"),
    path,
    authorization === undefined ? {} : { headers: { Authorization: authorization } },
  );
}

function aDoor(users: () => Users): Door {
  const checker = new CountingChecker();
  const guard = basicAuth(users, checker);
  const ask = (authorization?: string, path?: string): Promise<Response> =>
    askBehind(guard, authorization, path);
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
      check: ({ password }) => {
        seen.push(password);
        return Promise.resolve("match");
      },
    };
    const door = basicAuth(() => new Map([["zoë", HASH]]), checker);
    const answer = await askBehind(door, basic("zoë", "a:b:ç"));
    expect([answer.status, seen]).toEqual([200, ["a:b:ç"]]);
  });
});

type Client = { readonly connection: { destroyed: boolean } };

describe("password checks", () => {
  function checksWith(maxWaiting = 256): { checks: PasswordChecks; warnings: string[] } {
    const warnings: string[] = [];
    const checks = new PasswordChecks(systemClock, (message) => warnings.push(message), maxWaiting);
    onTestFinished(() => checks[Symbol.asyncDispose]());
    return { checks, warnings };
  }

  /** Each on a connection of its own. */
  function asks(password: string, hash: string, address = "10.0.0.1"): PasswordQuestion & Client {
    return { id: `${password} ${hash}`, password, hash, address, connection: { destroyed: false } };
  }

  const RIGHT = "test-password";
  /** The order in which the questions were answered. */
  async function orderOf(checks: PasswordChecks, questions: readonly PasswordQuestion[]): Promise<string[]> {
    const order: string[] = [];
    await Promise.all(
      questions.map(async (question) => {
        const verdict = await checks.check(question);
        order.push(`${question.password}: ${verdict}`);
      }),
    );
    return order;
  }

  test("tell right from wrong, also for hashes that htpasswd and others write", async () => {
    const { checks, warnings } = checksWith();
    for (const prefix of ["$2a$", "$2b$", "$2y$"]) {
      const hash = HASH.replace("$2b$", prefix);
      expect(await checks.check(asks(RIGHT, hash))).toBe("match");
      expect(await checks.check(asks("test-passwore", hash))).toBe("mismatch");
    }
    expect(warnings).toEqual([]);
  });

  test("leave the main thread free for the polls: the thread's word is the verdict", async () => {
    const believesAnybody = `
      import { parentPort } from "node:worker_threads";
      parentPort.on("message", () => parentPort.postMessage(true));`;
    const module = new URL(`data:text/javascript,${encodeURIComponent(believesAnybody)}`);
    const thread = new Thread({ name: "passwords", module, canWait: true });
    const checks = new PasswordChecks(systemClock, () => {}, 1, thread);
    onTestFinished(() => checks[Symbol.asyncDispose]());
    expect(thread.isRunning).toBe(false);
    expect(await checks.check(asks("wrong", HASH))).toBe("match");
    expect(thread.isRunning).toBe(true);
  });

  const guessesAt = (hash: string, count: number, address?: string): (PasswordQuestion & Client)[] =>
    Array.from({ length: count }, (_, guess) => asks(`guess ${guess}`, hash, address));

  test("never turn the right one away, however many guess it at the same address", async () => {
    const { checks } = checksWith();
    const order = await orderOf(checks, [...guessesAt(HASH, 40), asks(RIGHT, HASH)]);
    expect(order).toContain("test-password: match");
    expect(order.filter((verdict) => verdict.endsWith("busy"))).toEqual([]);
  });

  test.each([
    ["from another address", HASH, "10.0.0.2"],
    ["of another user at the same address", OTHER, "10.0.0.1"],
  ])("let guesses delay the right one %s by a few turns only", async (_, hash, address) => {
    const { checks } = checksWith();
    const password = hash === HASH ? RIGHT : "test-password-2";
    const order = await orderOf(checks, [...guessesAt(HASH, 40), asks(password, hash, address)]);
    expect(order.indexOf(`${password}: match`)).toBeLessThanOrEqual(3);
  });

  test("of equal cost are done in the order in which they were asked", async () => {
    const { checks } = checksWith();
    const order = await orderOf(checks, guessesAt(HASH, 4));
    expect(order).toEqual([0, 1, 2, 3].map((guess) => `guess ${guess}: mismatch`));
  });

  test("come to the right one in the end, though guesses from ever new addresses cost less than it", async () => {
    const { checks } = checksWith();
    const found = new AbortController();
    let guesses = 0;
    async function guessForEver(): Promise<void> {
      while (!found.signal.aborted) await checks.check(asks(`${(guesses += 1)}`, HASH, `10.1.0.${guesses}`));
    }
    const before = guessesAt(HASH, 3);
    const spent = orderOf(checks, before);
    const right = checks.check(asks(RIGHT, HASH));
    const guessers = [1, 2, 3, 4].map(() => guessForEver());
    expect(await right).toBe("match");
    found.abort();
    await Promise.all([spent, ...guessers]);
  });

  test("go on when the client has gone, so that the right password is known when it asks again", async () => {
    const { checks } = checksWith();
    const guesses = orderOf(checks, guessesAt(HASH, 3));
    const first = asks(RIGHT, HASH);
    const answered = checks.check(first);
    first.connection.destroyed = true;
    expect(await answered).toBe("match");
    await guesses;
  });

  test("keep the place of what is asked again, and nothing of the askers that have gone", async () => {
    const { checks } = checksWith(2);
    const guess = checks.check(asks("guess", HASH));
    const gone = Array.from({ length: 50 }, () => {
      const question = asks(RIGHT, HASH);
      const answered = checks.check(question);
      question.connection.destroyed = true;
      return answered;
    });
    const last = asks(RIGHT, HASH);
    const answered = checks.check(last);
    // Before anything was checked.
    expect(await Promise.race([guess, Promise.all(gone)])).toEqual(Array(50).fill("busy"));
    expect(await Promise.all([guess, answered])).toEqual(["mismatch", "match"]);
    expect(await checks.check(last)).toBe("match");
  });

  test("give one place to each connection", async () => {
    const { checks } = checksWith();
    const { connection } = asks(RIGHT, HASH);
    const first = checks.check({ ...asks("guess", HASH), connection });
    expect(await checks.check({ ...asks(RIGHT, HASH), connection })).toBe("busy");
    expect(await first).toBe("mismatch");
    expect(await checks.check({ ...asks(RIGHT, HASH), connection })).toBe("match");
  });

  test("are bounded, and who still waits takes the place of the last that has gone", async () => {
    const { checks } = checksWith(4);
    const guesses = guessesAt(HASH, 4);
    const verdicts = guesses.map((question) => checks.check(question));
    expect(await checks.check(asks("one too many", HASH))).toBe("busy");
    for (const { connection } of guesses.slice(2)) connection.destroyed = true;
    expect(await checks.check(asks(RIGHT, HASH))).toBe("match");
    expect(await Promise.all(verdicts)).toEqual(["mismatch", "mismatch", "mismatch", "busy"]);
  });

  test("that wait when it closes are answered, and so are those that come after", async () => {
    const { checks } = checksWith();
    const takesSeconds = HASH.replace("$04$", "$16$");
    const waiting = [1, 2, 3].map((guess) => checks.check(asks(`guess ${guess}`, takesSeconds)));
    await checks[Symbol.asyncDispose]();
    expect(await Promise.all(waiting)).toEqual(["busy", "busy", "busy"]);
    expect(await checks.check(asks(RIGHT, HASH))).toBe("busy");
  });

  test("outlive their thread", async () => {
    const { checks, warnings } = checksWith();
    const notEvenText = null as never;
    expect(await checks.check(asks("guess", notEvenText))).toBe("busy");
    await eventually("a warning is given", () => warnings.length > 0);
    expect(warnings[0]).toMatch(/^password check thread failed, a new one will be started: /);
    expect(await checks.check(asks(RIGHT, HASH))).toBe("match");
  });
});

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:DB8:1:2::1", "2001:db8:1:2"],
  ["2001:db8::1", "2001:db8:0:0"],
  ["fe80::1%eth0", "fe80:0:0:0"],
  ["1::2:3:4:5:6", "1:0:0:2"],
  ["::1", "0:0:0:0"],
  ["", ""],
])("a client at %j counts as %j", (address, network) => expect(networkOf(address)).toBe(network));

import { opened } from "../../support/opened.ts";
import { expect, test } from "vitest";
import { systemClock } from "../../../src/platform/clock.ts";
import { parseWebConfig } from "../../../src/config/web/read.ts";
import type { Opened } from "../../../src/platform/opened.ts";
import type { WebConfig } from "../../../src/kernel/config/web-config.ts";
import { LiveWebConfig } from "../../../src/http/server/live-web-config.ts";

const HASH = `$2b$04$${"a".repeat(53)}`;
const USERS = `basic_auth_users:\n  alice: ${HASH}\n  bob: "${HASH}"\n`;
const TLS =
  "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n";

/** The certificates that it names can always be used. */
function readingOf(text: string): Opened<WebConfig> {
  const parsed = parseWebConfig(Buffer.from(text), "web.yaml");
  if (parsed.kind === "refused") return { kind: "refused", faults: ["it is refused"] };
  const { tls, headers, users } = parsed.config;
  const opened = tls && { clientAuth: tls.clientAuth, context: { ...tls.options, cert: "", key: "" } };
  return { kind: "opened", what: { tls: opened, headers, users } };
}

test.each([
  ["TLS first", `${TLS}${USERS}`],
  ["users first", `${USERS}${TLS}`],
  ["users alone", USERS],
])("a file that is cut at any byte, and stays so, opens no door: %s", async (_, whole) => {
  const over = new AbortController();
  let [cutAt, isNew] = [whole.length, false];
  const doors: string[] = [];
  const live = opened(
    await LiveWebConfig.open({
      read: () => Promise.resolve(readingOf(whole.slice(0, cutAt))),
      hasChanged: () => {
        // What was read is used at the look after it, when nothing has changed again.
        isNew = !isNew;
        if (!isNew) return Promise.resolve(false);
        const { users, tls } = live.config;
        doors.push(`${users.size > 0} ${tls?.clientAuth} ${[...users].every(([, hash]) => hash === HASH)}`);
        cutAt -= 1;
        if (cutAt < 0) over.abort();
        return Promise.resolve(true);
      },
    }),
  );
  const isClosed = `true ${live.config.tls?.clientAuth} true`;
  const following = {
    clock: systemClock,
    recheckMs: 0,
    renew: () => {},
    onWarning: () => {},
    onChange: () => {},
  };
  await live.follow(following, over.signal);
  expect(doors).toHaveLength(whole.length + 1);
  expect(new Set(doors)).toEqual(new Set([isClosed]));
});

test("a file that could not be read for a while is read again without a change, and told of once", async () => {
  const other = USERS.replace("bob", "carol");
  let [looks, reads] = [0, 0];
  const over = new AbortController();
  const live = opened(
    await LiveWebConfig.open({
      read: () => {
        reads += 1;
        if (reads === 1) return Promise.resolve(readingOf(USERS));
        const faults = ["it cannot be read"];
        return Promise.resolve(reads < 5 ? { kind: "refused", faults } : readingOf(other));
      },
      hasChanged: () => Promise.resolve((looks += 1) === 1),
    }),
  );
  const warnings: string[] = [];
  const following = {
    clock: systemClock,
    recheckMs: 0,
    renew: () => {},
    onWarning: (message: string) => void warnings.push(message),
    onChange: () => over.abort(),
  };
  await live.follow(following, over.signal);
  expect([...live.config.users.keys()]).toEqual(["alice", "carol"]);
  expect(warnings).toEqual(["cannot use the changed web config, keeping the old one: it cannot be read"]);
  // Not at each look.
  expect(looks / reads).toBeGreaterThan(5);
});

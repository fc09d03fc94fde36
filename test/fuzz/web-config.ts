import { setImmediate as nextTurn } from "node:timers/promises";
import { formatFault } from "../../src/config/read/fault.ts";
import { parseWebConfig } from "../../src/config/web/read.ts";
import { bytesOf, mutated, pieces } from "./mutate.ts";
import { promise, type Session, type Target, UNPRINTABLE, within } from "./target.ts";

const CANARY = "$2y$10$testhashcanary4711testhashcanary4711testhashcanary4711";
const MOST_MS = 5_000;

const CORPUS = [
  `tls_server_config:
  cert_file: server.crt
  key_file: server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  min_version: TLS12
  max_version: TLS13
  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]
  curve_preferences: [X25519, CurveP256]
http_server_config:
  http2: false
  headers:
    X-Frame-Options: deny
    Strict-Transport-Security: max-age=31536000
basic_auth_users:
  alice: ${CANARY}
`,
  `basic_auth_users: { alice: "${CANARY}", bob: "${CANARY}" }\n`,
  "tls_server_config: { cert_file: a, key_file: b }\n",
  "{}\n",
];

const PIECES = [
  ..."{}[]:,-?&*!|>'\"%@#\n \t".split(""),
  ...pieces("\r\n¦\n  ¦---\n¦<<: ¦&a ¦*a¦!!binary ¦? ¦null¦true¦TLS10¦TLS13¦__proto__: "),
  ...pieces("basic_auth_users¦headers¦cert_file¦alice: ¦\u0000¦\u001b[2J¦\u00e2\u0080\u00ae¦\u0085"),
  CANARY,
  "[".repeat(300),
  "{a: ".repeat(300),
];

function judge(text: string): void {
  const parsed = parseWebConfig(bytesOf(text), "web.yaml");
  if (parsed.kind === "parsed") return;
  promise(parsed.faults.length > 0, "refused without a fault");
  for (const fault of parsed.faults.map(formatFault)) {
    promise(/^web\.yaml:\d+:\d+: ./.test(fault), `a fault is nowhere: ${fault}`);
    promise(!UNPRINTABLE.test(fault), `a fault is not one printable line: ${fault}`);
    promise(!fault.includes(CANARY.slice(0, 20)), `a password's hash was shown: ${fault}`);
  }
}

async function open(): Promise<Session<string>> {
  const warnings: Error[] = [];
  const hear = (warning: Error): void => void warnings.push(warning);
  process.on("warning", hear);
  return {
    check: async (text) => {
      await within(MOST_MS, "parsing", Promise.resolve(text).then(judge));
      await nextTurn();
      promise(warnings.length === 0, `the parser itself spoke: ${warnings.pop()?.message}`);
    },
    [Symbol.asyncDispose]: async () => void process.off("warning", hear),
  };
}

export const webConfigTarget: Target<string> = {
  name: "web config",
  cases: mutated(CORPUS, PIECES),
  kept: [
    ["a key that cannot be printed", "\u0000tls_server_config: {}\n"],
    ["an alias that cannot be printed", "*\u0000"],
    ["a hash where a name belongs", `${CANARY}: alice\n`],
    ["keys within keys, which took minutes", "? ".repeat(716)],
    [
      "a mapping for a key, of which the library would warn in its own words",
      `? { alice: "${CANARY}" }\n: 1\n`,
    ],
  ],
  open,
};

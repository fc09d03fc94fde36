import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type ConfigFolder,
  openConfigFolder,
  rawUpstream,
  type RawConfig,
} from "../../support/config-folder.ts";
import { ECHOES, type EchoUpstream, openEchoUpstream } from "./echo.ts";
import { echoesIn, tracesOf } from "./traces.ts";

/** What is looked for is the core: it looks the same in every alphabet but base64, whatever surrounds it. */
type Canary = { readonly core: string; readonly key: string };

const SIGNS = String.raw`+/=&%"'<>\ ;`;

function canary(core: string, before = "test-key-", after = ""): Canary {
  return { core, key: `${before}${core}${after}` };
}

type Name =
  | "bearer"
  | "header"
  | "query"
  | "file"
  | "rotated"
  | "afterRotation"
  | "basic"
  | "client"
  | "token"
  | "path"
  | "proxy";

export const CANARIES: Readonly<Record<Name, Canary>> = {
  bearer: canary("core-of-bearer-1f0c"),
  header: canary("core-of-header-2e1d", `test-key${SIGNS}`, "/+=="),
  query: canary("core-of-query-3d2b", `test-key${SIGNS}`, `${SIGNS}.`),
  file: canary("core-of-file-4c3a"),
  rotated: canary("core-of-rotated-5b4f"),
  afterRotation: canary("core-of-rotation-6a5e", "test/key+"),
  basic: canary("core-of-login-c29e", "test/key+", "=="),
  client: canary("core-of-client-9f6b", `test-key${SIGNS}`, "/+=="),
  token: canary("core-of-token-a07c", "test/key+", "=="),
  path: canary("core-of-path-8e5c"),
  proxy: canary("core-of-proxy-7968", "test-password-"),
};

const CORES = Object.values(CANARIES).map(({ core }) => core);
const KEYS = Object.values(CANARIES).map(({ key }) => key);

const AUTHS: Readonly<Record<string, object>> = {
  bearer: { bearer: { env: "BEARER_KEY" } },
  header: { header: { name: "X-Api-Key", env: "HEADER_KEY" } },
  query: { query: { name: "api_key", env: "QUERY_KEY" } },
  file: { bearer: { file: "file.key" } },
  rotated: { header: { name: "X-Api-Key", file: "rotated.key" } },
};

/** Throws, as a bug somewhere would, an error that holds keys; and tells what the process had in its environment then. */
const BUG = `
  import { writeFileSync } from "node:fs";
  const words = [process.env.BEARER_KEY, process.env.HTTP_PROXY, encodeURIComponent(process.env.QUERY_KEY)];
  process.on("SIGWINCH", () => {
    writeFileSync(new URL("environment.json", import.meta.url), JSON.stringify(process.env));
    throw Object.assign(new TypeError("Invalid URL: " + words.join(" ")), { input: words });
  });
`;

/** One token for all upstreams; or for each a token endpoint that says its client's secret. */
function authOf(mode: string, echo: string, upstreamUrl: string): object {
  const oauth2 = (path: string): object => ({
    oauth2: {
      token_url: `${upstreamUrl}${path}`,
      client_id: "pacewatch",
      client_secret: { env: "CLIENT_SECRET" },
    },
  });
  if (mode === "basic") return { basic: { user: "user", password: { env: "BASIC_KEY" } } };
  if (mode === "token") return oauth2("/token");
  if (mode === "client") return oauth2(`/echo/${echo}`);
  return AUTHS[mode] ?? { none: true };
}

/** A token and the key of a file are sent as any bearer and header are; and of a token endpoint's answer, little is kept. */
const SOME_ECHOES: Readonly<Record<string, readonly string[]>> = {
  file: ["in-every-place", "as-hints", "for-a-status-line", "in-half-an-answer"],
  rotated: ["in-every-place", "as-hints", "for-a-status-line", "in-half-an-answer"],
  basic: ["in-every-place", "as-hints", "for-a-status-line", "compressed", "in-too-large-a-body"],
  token: ["in-every-place", "as-an-announcement", "as-hints", "for-a-length"],
  client: [
    "in-every-place",
    "as-hints",
    "as-a-place-to-go",
    "for-a-status-line",
    "for-a-length",
    "for-an-encoding",
    "in-half-an-answer",
    "in-too-large-a-head",
  ],
};

/** Of a key that is sent to the echoes. */
export const MODES: readonly string[] = [...new Set([...Object.keys(AUTHS), ...Object.keys(SOME_ECHOES)])];

/** The shapes that a key is written in are those of one with every sign in it. */
export function echoesOf(mode: string): readonly string[] {
  const some = SOME_ECHOES[mode];
  if (some !== undefined) return some;
  const echoes = Object.keys(ECHOES);
  return mode === "header" ? echoes : echoes.filter((echo) => !echo.startsWith("shape-"));
}

function configOf(upstreamUrl: string): RawConfig {
  const budget = { rate: { requests: 1_000_000, per: "1m" } };
  const names = Object.keys(ECHOES);
  // A 429 silences all of its budget: each key has one of its own for them.
  const silenced = (mode: string): string => `silenced-${mode}`;
  const watched = (name: string, mode: string, echo: string, changes: object = {}) =>
    rawUpstream(name, upstreamUrl, {
      path: `/echo/${echo}`,
      auth: authOf(mode, echo, upstreamUrl),
      labels: { mode },
      budget: echo === "as-hints" ? silenced(mode) : "api",
      every: "10s",
      timeout: "1s",
      proxy: "none",
      expect: { max_body: "8KiB" },
      ...changes,
    });
  return {
    web: { enable_lifecycle: true },
    log: { level: "trace" },
    state: { path: "pacewatch.db" },
    budgets: {
      api: budget,
      ...Object.fromEntries(MODES.map((mode) => [silenced(mode), budget])),
    },
    upstreams: [
      ...MODES.flatMap((mode) =>
        echoesOf(mode).map((echo) => watched(`${mode}-${names.indexOf(echo)}`, mode, echo)),
      ),
      watched("changing", "rotated", "in-every-place", { every: "1s" }),
      watched("path-0", "path", "in-every-place", { path: "/echo/in-every-place/${PATH_KEY}" }),
      watched("behind-a-proxy", "proxy", "in-every-place", { proxy: "env" }),
    ],
  };
}

/** An upstream that says every key it is sent, and a config folder whose keys are the canaries. */
export type CanaryWorld = AsyncDisposable & {
  readonly upstream: EchoUpstream;
  readonly folder: ConfigFolder;
  readonly environment: Readonly<Record<string, string>>;
  readonly config: RawConfig;
  /** As before any test. */
  writeFiles(): Promise<void>;
};

export async function openCanaryWorld(): Promise<CanaryWorld> {
  const upstream = await openEchoUpstream(CANARIES.token.key);
  const config = configOf(upstream.url);
  const folder = await openConfigFolder(config);
  return {
    upstream,
    folder,
    config,
    environment: {
      BEARER_KEY: CANARIES.bearer.key,
      HEADER_KEY: CANARIES.header.key,
      QUERY_KEY: CANARIES.query.key,
      PATH_KEY: CANARIES.path.key,
      BASIC_KEY: CANARIES.basic.key,
      CLIENT_SECRET: CANARIES.client.key,
      NOT_A_KEY: "test-canary-of-the-environment",
      HTTP_PROXY: `http://user:${CANARIES.proxy.key}@127.0.0.1:${upstream.port}`,
    },
    async writeFiles() {
      await folder.write(config);
      await writeFile(join(folder.folder, "file.key"), `${CANARIES.file.key}\n`);
      await writeFile(join(folder.folder, "rotated.key"), CANARIES.rotated.key);
      await writeFile(join(folder.folder, "bug.mjs"), BUG);
    },
    async [Symbol.asyncDispose]() {
      await upstream.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Where a key was found, which one, and how it was written there. */
export function leaksIn(outputs: ReadonlyMap<string, string>): readonly string[] {
  return [...outputs].flatMap(([place, text]) =>
    [...tracesOf(CORES, text), ...echoesIn(KEYS, text)].map((trace) => `in ${place}: ${trace}`),
  );
}

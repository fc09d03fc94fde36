import { askFor } from "../../kernel/budget/ledger.ts";
import { DEFAULT_TLS, type Upstream } from "../../kernel/config/config.ts";
import type { OAuth2 } from "./config.ts";
import type { Opened } from "../../platform/opened.ts";
import { TOKEN_TIMEOUT_MS, tokenIdentity } from "./oauth2.ts";
import type { LeaseQueue } from "../../kernel/polling/lease-queue.ts";
import { tokenRequestSigner } from "./signing.ts";
import { type HintsOfTokens, TokenSource, type UpstreamToken } from "./token-source.ts";
import { openTransport, type TransportParts } from "../../transport/open.ts";
import { openKey, urlWithoutQuery } from "../../transport/secrets/keys.ts";
import { SMALL_BODY_BYTES } from "../../kernel/exchange/exchange.ts";

export type TokensParts = TransportParts & {
  readonly hints: HintsOfTokens;
  /** The one in which the polls wait too. */
  readonly queue: LeaseQueue;
  readonly onBug: (error: unknown) => void;
};

/** The access tokens of this process: upstreams with the same settings share one, also over reloads. */
export class AppTokens implements AsyncDisposable {
  readonly #parts: TokensParts;
  readonly #sources = new Map<string, TokenSource>();
  readonly #closing = new Set<Promise<void>>();

  constructor(parts: TokensParts) {
    this.#parts = parts;
  }

  /** Undefined for an upstream that needs none. Refused where the client's secret or a TLS file cannot be used. */
  async of(upstream: Upstream): Promise<Opened<UpstreamToken | undefined>> {
    const identity = tokenIdentity(upstream);
    if (identity === undefined || upstream.auth.kind !== "oauth2") return { kind: "opened", what: undefined };
    const known = this.#sources.get(identity);
    if (known !== undefined) return { kind: "opened", what: known.forUpstream() };
    const source = await this.#open(upstream.auth, identity, upstream);
    if (source.kind === "refused") return source;
    this.#sources.set(identity, source.what);
    return { kind: "opened", what: source.what.forUpstream() };
  }

  /** Ends those that no upstream of this config uses. */
  keep(upstreams: readonly Upstream[]): void {
    const used = new Set(upstreams.map(tokenIdentity));
    for (const [identity, source] of this.#sources) {
      if (used.has(identity)) continue;
      this.#sources.delete(identity);
      const closed = source
        .close()
        .catch(this.#parts.onBug)
        .finally(() => this.#closing.delete(closed));
      this.#closing.add(closed);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.keep([]);
    await Promise.all(this.#closing);
  }

  async #open(
    auth: OAuth2,
    identity: string,
    { name: upstream, denyAddresses }: Upstream,
  ): Promise<Opened<TokenSource>> {
    const { clock, keys, hints, queue, log, onBug } = this.#parts;
    const { url, budgets, proxy, caFile } = auth.token;
    const fields = { upstream, tokenUrl: urlWithoutQuery(url) };
    const secret = await openKey(auth.secret, `client ${identity}`, fields, this.#parts);
    if (secret.kind === "refused") return secret;
    const probe = await openTransport(this.#parts, {
      fields,
      upstream: {
        name: upstream,
        url,
        method: "POST",
        auth: { kind: "none" },
        sign: tokenRequestSigner(auth.token),
        headers: { "Content-Type": "application/x-www-form-urlencoded" },
        timeoutMs: TOKEN_TIMEOUT_MS,
        // One small object.
        expect: { maxBodyBytes: SMALL_BODY_BYTES },
        connection: "fresh",
        proxy,
        denyAddresses,
        // Our own certificate is for the upstream only.
        tls: { ...DEFAULT_TLS, caFile },
      },
      credential: () => secret.what(),
    });
    if (probe.kind === "refused") return probe;
    const source = new TokenSource({
      clock,
      hints,
      queue,
      ask: askFor(budgets),
      probe: probe.what,
      secret: secret.what,
      learn: (token) => keys.learn(`token ${identity}`, token),
      random: Math.random,
      fields,
      log,
      onBug,
    });
    return { kind: "opened", what: source };
  }
}

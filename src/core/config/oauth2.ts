/** What the token requests of OAuth 2.0 may cost: known before any is sent. */

import type { OAuth2, Upstream } from "./config.ts";

/** From one token request to the next with the same settings, at least. */
export const TOKEN_GAP_MS = 60_000;
export const TOKEN_TIMEOUT_MS = 10_000;

/** Upstreams for which this is equal share one token. */
export function tokenIdentity({ secret, token }: OAuth2): string {
  return JSON.stringify([secret, token]);
}

/** Each token that is fetched, with the upstreams that it is for. */
export function tokensOf(
  upstreams: readonly Upstream[],
): readonly { readonly auth: OAuth2; readonly users: readonly Upstream[] }[] {
  const byIdentity = new Map<string, { auth: OAuth2; users: Upstream[] }>();
  for (const upstream of upstreams) {
    const { auth } = upstream;
    if (auth.kind !== "oauth2") continue;
    const identity = tokenIdentity(auth);
    const known = byIdentity.get(identity);
    if (known === undefined) byIdentity.set(identity, { auth, users: [upstream] });
    else known.users.push(upstream);
  }
  return [...byIdentity.values()];
}

/** How long a request on this budget may take, for a poll or for a token. */
export function longestTimeoutMs(upstreams: readonly Upstream[], budget: string): number {
  return upstreams.reduce((longestMs, { auth, budget: own, timeoutMs }) => {
    const pollMs = own === budget ? timeoutMs : 0;
    const tokenMs = auth.kind === "oauth2" && auth.token.budget === budget ? TOKEN_TIMEOUT_MS : 0;
    return Math.max(longestMs, pollMs, tokenMs);
  }, 0);
}

import { signerOf as authSignerOf } from "../../features/auth/signing.ts";
import { AppTokens } from "../../features/auth/tokens.ts";
import type { Hints } from "../../features/hints/hints.ts";
import type { Upstream } from "../../kernel/config/config.ts";
import type { Gate } from "../../kernel/poll/ports.ts";
import type { LeaseQueue } from "../../kernel/polling/lease-queue.ts";
import type { Opened } from "../../platform/opened.ts";
import type { TransportParts } from "../../transport/open.ts";
import type { Signer } from "../../transport/request.ts";

/** How requests are authorised where no key is sent. */
const SIGNERS: readonly ((upstream: Upstream) => Signer | undefined)[] = [authSignerOf];

export function signerOf(upstream: Upstream): Signer | undefined {
  return SIGNERS.map((of) => of(upstream)).find((signer) => signer !== undefined);
}

/** Keys that are not found, but fetched. */
export type Credentials = AsyncDisposable & {
  /** Undefined for an upstream whose key is not fetched here. */
  of(upstream: Upstream): Promise<Opened<{ readonly gate: Gate; readonly read: () => string } | undefined>>;
  /** Ends those that no upstream of this config uses. */
  keep(upstreams: readonly Upstream[]): void;
};

type CredentialParts = TransportParts & {
  readonly hints: Hints;
  readonly queue: LeaseQueue;
  readonly onBug: (error: unknown) => void;
};

const CREDENTIALS: readonly ((parts: CredentialParts) => Credentials)[] = [(parts) => new AppTokens(parts)];

export function openCredentials(parts: CredentialParts): readonly Credentials[] {
  return CREDENTIALS.map((open) => open(parts));
}

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Socket } from "node:net";
import { type Guard, PROBE_PATHS, textAnswer } from "./guard.ts";
import { networkOf } from "./network.ts";

/** bcrypt hashes by user name. While it is empty, no password is needed. */
export type Users = ReadonlyMap<string, string>;

export type PasswordVerdict = "match" | "mismatch" | "busy";

export type PasswordQuestion = {
  /** The same for the same user, password and hash, and tells nothing of them. */
  readonly id: string;
  readonly password: string;
  readonly hash: string;
  /** The client's, or that of the network that it can choose addresses from. */
  readonly address: string;
  readonly connection: { readonly destroyed: boolean };
};

export interface PasswordChecker {
  check(question: PasswordQuestion): Promise<PasswordVerdict>;
}

const CHALLENGE = 'Basic realm="pacewatch", charset="UTF-8"';

/** `users` is called for each request, because the web config file can change. */
export function basicAuth(users: () => Users, checker: PasswordChecker): Guard {
  const verified = new VerifiedCredentials();
  return async ({ path, header, incoming }) => {
    const current = users();
    if (current.size === 0 || PROBE_PATHS.has(path)) return undefined;
    const credentials = parseCredentials(header("authorization"));
    const verdict =
      credentials === undefined
        ? "mismatch"
        : await verify(credentials, current, verified, checker, incoming.socket);
    switch (verdict) {
      case "match":
        return undefined;
      case "mismatch":
        return textAnswer("unauthorized\n", 401, { "WWW-Authenticate": CHALLENGE });
      case "busy":
        return textAnswer("cannot check the password: too many checks are waiting\n", 503, {
          "Retry-After": "1",
        });
      default:
        return verdict satisfies never;
    }
  };
}

type Credentials = { readonly user: string; readonly password: string };

function parseCredentials(authorization: string | undefined): Credentials | undefined {
  const encoded = /^basic +([a-z0-9+/]+=*) *$/i.exec(authorization ?? "")?.[1];
  if (encoded === undefined) return undefined;
  const decoded = Buffer.from(encoded, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  return colon === -1 ? undefined : { user: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

async function verify(
  credentials: Credentials,
  users: Users,
  verified: VerifiedCredentials,
  checker: PasswordChecker,
  connection: Socket,
): Promise<PasswordVerdict> {
  const hash = users.get(credentials.user);
  if (hash !== undefined && verified.has(credentials, hash)) return "match";
  // An unknown user takes as long as a known one. Otherwise the time would reveal which names exist.
  const asked = hash ?? verified.decoy(credentials.user, users);
  const verdict = await checker.check({
    id: verified.idOf(credentials, asked),
    password: credentials.password,
    hash: asked,
    address: networkOf(connection.remoteAddress ?? ""),
    connection,
  });
  if (verdict !== "match") return verdict;
  if (hash === undefined) return "mismatch";
  verified.add(credentials, hash);
  return "match";
}

/**
 * bcrypt is slow on purpose, and a scraper sends the same password every few seconds. So the last right password of each
 * user is remembered, as a MAC under a key that exists only in this process. Wrong passwords do not displace it.
 */
class VerifiedCredentials {
  readonly #key: Buffer = randomBytes(32);
  readonly #macs = new Map<string, Buffer>();

  has(credentials: Credentials, hash: string): boolean {
    const mac = this.#macs.get(credentials.user);
    return mac !== undefined && timingSafeEqual(mac, this.#macOf(credentials, hash));
  }

  add(credentials: Credentials, hash: string): void {
    this.#macs.set(credentials.user, this.#macOf(credentials, hash));
  }

  idOf(credentials: Credentials, hash: string): string {
    return this.#macOf(credentials, hash).toString("base64");
  }

  /** The hash of a real user, always the same one for the same unknown name. */
  decoy(user: string, users: Users): string {
    const hashes = [...users.values()];
    const digest = createHmac("sha256", this.#key).update(user).digest();
    return hashes[digest.readUInt32BE() % hashes.length] ?? "";
  }

  /** The bcrypt hash is part of it, so the old password is forgotten when it changes. */
  #macOf({ user, password }: Credentials, hash: string): Buffer {
    return createHmac("sha256", this.#key)
      .update(JSON.stringify([user, password, hash]))
      .digest();
  }
}

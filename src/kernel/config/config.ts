/**
 * The running configuration: typed, resolved, proven. It holds no secrets, only where to find them. What a feature adds to
 * an interface stands in the `config.ts` of its folder, and is plain data too.
 */

import type { Schedule } from "../schedule/schedule.ts";
import { isObject } from "../text/json.ts";

export type Rate = {
  readonly requests: number;
  readonly perMs: number;
  /** As metrics name it: `1s`, `1m`, `1h`. */
  readonly label: string;
};

/** One of several that watch the same from different places and share nothing: each may use an equal part. */
export type Vantage = {
  readonly name: string;
  /** There are at most so many. */
  readonly of: number;
};

export interface Budget {
  readonly name: string;
  /** As the upstream's owner allows it: of a vantage too, the whole. */
  readonly rates: readonly Rate[];
  /** 0 < share ≤ 1. */
  readonly share: number;
  /** Absent where nobody else watches. */
  readonly vantage?: Vantage | undefined;
  readonly lingerMs: number;
  readonly maxPauseMs: number;
  /** A pause that nobody asked for is no longer than this. */
  readonly blindAfterMs: number;
  /** 0 ≤ yieldBelow < 1, of the upstream's own limit. */
  readonly yieldBelow: number;
}

/** Where a key is found: exactly one of them, the name of a variable or a file. */
export type SecretSource = { readonly env?: string | undefined; readonly file?: string | undefined };

/** The ways to authenticate, by their keys in the config. */
export interface AuthKinds {
  none: { readonly kind: "none" };
  bearer: { readonly kind: "bearer"; readonly secret: SecretSource };
  /** The user is shown, the password is the secret. */
  basic: { readonly kind: "basic"; readonly user: string; readonly secret: SecretSource };
  header: {
    readonly kind: "header";
    readonly name: string;
    /** Stands before the key, such as `Token `; absent for none. */
    readonly prefix?: string | undefined;
    readonly secret: SecretSource;
  };
  query: { readonly kind: "query"; readonly name: string; readonly secret: SecretSource };
}
export type Auth = AuthKinds[keyof AuthKinds];

/** Where its keys are found, in the order in which it has them. */
export function sourcesOf(auth: Auth): readonly SecretSource[] {
  return Object.values<unknown>(auth).filter(isSource);
}

function isSource(part: unknown): part is SecretSource {
  return isObject(part) && (part["env"] !== undefined || part["file"] !== undefined);
}

export const STATUS_CLASSES = ["2xx", "3xx", "4xx", "5xx"] as const;
/** A status code, or all of a class. */
export type ExpectedStatus = number | (typeof STATUS_CLASSES)[number];

export interface Expectation {
  readonly status: readonly ExpectedStatus[];
  readonly json: boolean;
  readonly maxBodyBytes: number;
  /** JSON pointers to places in a body. What is found there is never told, as it would be in the log. */
  readonly unshown?: readonly string[] | undefined;
}

export type Objective = {
  /** 0 < availability < 1. */
  readonly availability: number;
  readonly latencyMs: number;
};

export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "OPTIONS", "DELETE"] as const;
export type Method = (typeof METHODS)[number];

/** A request with one of these asks for nothing to be done (RFC 9110, section 9.2.1). */
export const SAFE_METHODS: ReadonlySet<Method> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Variables are not filled in: their values are secret. */
export type RequestBody =
  | { readonly json: unknown }
  | { readonly text: string }
  | { readonly form: Readonly<Record<string, string>> }
  | {
      readonly file: string;
      /** What it holds. Undefined until it is read, and where a config is read without all of its files. */
      readonly read: { readonly bytes: Uint8Array; readonly digest: string } | undefined;
    };

export type Tls = {
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  readonly serverName: string | undefined;
  readonly insecureSkipVerify: boolean;
};

/** The roots that Node.js trusts, and no certificate of ours. */
export const DEFAULT_TLS: Tls = {
  caFile: undefined,
  certFile: undefined,
  keyFile: undefined,
  serverName: undefined,
  insecureSkipVerify: false,
};

/** `env`, as the usual variables say, `none`, or its URL. */
export type Proxy = string;

export interface Upstream {
  readonly name: string;
  /** Base and path, joined; never a credential in it: the variables of the path are not filled in. */
  readonly url: string;
  /**
   * What is joined once the variables of the path are filled in: their values are secret. Absent where it has none: `url`
   * is requested as it is.
   */
  readonly pathTemplate?: { readonly base: string; readonly path: string };
  /** Absent for GET. */
  readonly method?: Method | undefined;
  readonly body?: RequestBody | undefined;
  /** Whether each poll sends its own id as `Idempotency-Key`. */
  readonly idempotencyKey?: boolean | undefined;
  readonly auth: Auth;
  readonly headers: Readonly<Record<string, string>>;
  /** At least one. Each of its requests takes a lease of every one of them. */
  readonly budgets: readonly string[];
  readonly schedule: Schedule;
  readonly timeoutMs: number;
  /** So many further polls must fail before a failure counts as down. */
  readonly confirm: number;
  /** And so long must it have failed. */
  readonly confirmOverMs: number;
  readonly expect: Expectation;
  readonly degradedAboveMs: number;
  /** In lower case; besides those that are known. */
  readonly requestIdHeaders: readonly string[];
  readonly objective: Objective;
  readonly connection: "fresh" | "reuse";
  readonly proxy: Proxy;
  readonly tls: Tls;
  readonly labels: Readonly<Record<string, string>>;
  /** The same for all of a config. */
  readonly denyAddresses?: readonly string[] | undefined;
}

/** Stands before the name of a link, in the label that has its URL. */
export const LINK_LABEL = "link_";

/** Where somebody listens. */
export type Address = { readonly host: string; readonly port: number };

export interface Web {
  readonly listen: Address;
  /** A second address, for probes alone. */
  readonly probeListen: Address | undefined;
  readonly configFile: string | undefined;
  readonly enableLifecycle: boolean;
  /** For people, if not the address that it listens on. */
  readonly pageUrl?: string | undefined;
  /** As written, if at all. */
  readonly allowedHosts: readonly string[] | undefined;
}

export interface Config {
  readonly web: Web;
  /** Absent where nobody else watches. */
  readonly vantage?: Vantage | undefined;
  /** Networks and addresses that no poll may connect to; undefined for the default. */
  readonly denyAddresses?: readonly string[] | undefined;
  readonly budgets: readonly Budget[];
  readonly upstreams: readonly Upstream[];
}

export function isExpected({ status }: Pick<Expectation, "status">, code: number): boolean {
  return status.some((each) => each === code || each === `${Math.floor(code / 100)}xx`);
}

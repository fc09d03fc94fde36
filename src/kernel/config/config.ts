/** The running configuration: typed, resolved, proven. It holds no secrets, only where to find them. */

import type { JsonScalar, JsonType } from "../exchange/json-value.ts";
import type { RefusalMeaning } from "../exchange/outcome.ts";
import type { Price } from "../../features/money/price.ts";
import type { Part, Stream } from "../../features/streams/stream.ts";
import type { Schedule } from "../schedule/schedule.ts";

export type Rate = {
  readonly requests: number;
  readonly perMs: number;
  /** As metrics name it: `1s`, `1m`, `1h`. */
  readonly label: string;
};

/** In whole units, so that sums are exact: requests, or billionths of a currency. */
export type Quota = {
  readonly most: number;
  readonly perMs: number;
  readonly onExhaust: "stop" | "refuse";
};

/** One of several that watch the same from different places and share nothing: each may use an equal part. */
export type Vantage = {
  readonly name: string;
  /** There are at most so many. */
  readonly of: number;
};

export type Budget = {
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
  /** Of a vantage only its part, as is the spend. */
  readonly quota: Quota | undefined;
  /** Of money, in the currency of the prices of its upstreams. */
  readonly spend?: Quota | undefined;
  /** Of each request of its upstreams that have none of their own. */
  readonly price?: Price | undefined;
};

/** Where a key is found: exactly one of them, the name of a variable or a file. */
export type SecretSource = { readonly env?: string | undefined; readonly file?: string | undefined };

export type Auth =
  | { readonly kind: "none" }
  | { readonly kind: "bearer"; readonly secret: SecretSource }
  /** The user is shown, the password is the secret. */
  | { readonly kind: "basic"; readonly user: string; readonly secret: SecretSource }
  | {
      readonly kind: "header";
      readonly name: string;
      /** Stands before the key, such as `Token `; absent for none. */
      readonly prefix?: string | undefined;
      readonly secret: SecretSource;
    }
  | { readonly kind: "query"; readonly name: string; readonly secret: SecretSource }
  | Aws
  | OAuth2;

/** Signature Version 4 of Amazon Web Services: each request is signed, and no key is sent. */
export type Aws = {
  readonly kind: "aws";
  readonly service: string;
  readonly region: string;
  readonly accessKeyId: SecretSource;
  readonly secret: SecretSource;
  readonly sessionToken?: SecretSource | undefined;
};

/** Where its keys are found. */
export function sourcesOf(auth: Auth): readonly SecretSource[] {
  if (auth.kind === "none") return [];
  if (auth.kind !== "aws") return [auth.secret];
  return [auth.accessKeyId, auth.secret, auth.sessionToken].filter((source) => source !== undefined);
}

/** The client credentials of OAuth 2.0: a token is fetched with them, and sent as a bearer key. */
export type OAuth2 = {
  readonly kind: "oauth2";
  /** Of the client. */
  readonly secret: SecretSource;
  readonly token: TokenRequest;
};

export type TokenRequest = {
  readonly url: string;
  readonly clientId: string;
  /** Where the client's id and secret are sent: in `Authorization: Basic`, or in the form. */
  readonly clientAuth: "basic" | "body";
  readonly scopes: readonly string[];
  /** Further fields of the form, such as `audience`. */
  readonly parameters: Readonly<Record<string, string>>;
  /** What its requests count against, each of them. */
  readonly budgets: readonly string[];
  readonly proxy: Proxy;
  readonly caFile: string | undefined;
};

/** How one upstream refuses, told by its operator. All that is given must hold. */
export type RefusalRule = {
  /** Absent for any. */
  readonly status?: readonly number[] | undefined;
  /** Its name in lower case. */
  readonly header?: string | undefined;
  /** A JSON pointer. */
  readonly json?: string | undefined;
  /** A part of what stands there, or without a place of the body, in lower case; absent for anything at all. */
  readonly text?: string | undefined;
  /** `status`: what its status says, whatever else it looks like. */
  readonly means: RefusalMeaning | "status";
};

/** What must be true of what stands in one place: one of these. Where none is told, there must be something. */
type Check = {
  readonly exists?: boolean | undefined;
  readonly equals?: JsonScalar | undefined;
  readonly oneOf?: readonly JsonScalar[] | undefined;
  /** These two in lower case. */
  readonly contains?: string | undefined;
  readonly lacks?: string | undefined;
  /** An expression in the syntax of RE2. */
  readonly matches?: string | undefined;
};

/** A JSON Schema that was checked: JSON, in memory that threads share, and the digest of its file. */
export type Contract = { readonly text: Uint8Array<SharedArrayBuffer>; readonly digest: string };

export type BodyAssertion = Check & {
  /** A JSON pointer, empty for the whole; undefined for the text of the body, JSON or not. */
  readonly path: string | undefined;
  /** Of a stream; absent for the last event. */
  readonly of?: Part | undefined;
  /** A credit stands there: what is found is not told, as it would be in the log. */
  readonly isCredit?: true;
  readonly type?: JsonType | undefined;
  /** Bounds of a number. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Bounds of the length of a list. */
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  /** Its file. */
  readonly jsonSchema?: string | undefined;
  /** What that says. Absent until it is read, and where a config is read without all of its files. */
  readonly contract?: Contract | undefined;
};

/** The name is in lower case. */
export type HeaderAssertion = Check & { readonly name: string };

export const STATUS_CLASSES = ["2xx", "3xx", "4xx", "5xx"] as const;
/** A status code, or all of a class. */
export type ExpectedStatus = number | (typeof STATUS_CLASSES)[number];

export type Expectation = {
  readonly status: readonly ExpectedStatus[];
  readonly json: boolean;
  readonly maxBodyBytes: number;
  /** These are absent where the operator tells of none. */
  readonly refusals?: readonly RefusalRule[] | undefined;
  readonly body?: readonly BodyAssertion[] | undefined;
  readonly headers?: readonly HeaderAssertion[] | undefined;
};

export type Objective = {
  /** 0 < availability < 1. */
  readonly availability: number;
  readonly latencyMs: number;
};

/** Minutes with at least so many failed polls are counted. */
export const FAILURES_COUNTED = [1, 2, 3, 4, 5] as const;

/** A minute is bad in which every poll that was ok or failed has failed, any has, or so many have. */
export type BadUnit = "all_failed" | "any_failed" | { readonly failures: number };

/** What the provider promises, counted in its own way. */
export type Sla = {
  /** 0 < atLeast < 1. */
  readonly atLeast: number;
  readonly unit: "minute";
  readonly badUnit: BadUnit;
  /** Parts of the bill that are paid back for a month with less availability than `below`. */
  readonly credits: readonly { readonly below: number; readonly credit: number }[] | undefined;
  readonly claimWithinMs: number | undefined;
  /** In which its months begin, whole hours from UTC; undefined for UTC. */
  readonly timeZone: string | undefined;
};

/** A number that the answers tell, such as the credit that is left. */
export type Value = {
  readonly name: string;
  /** A JSON pointer. */
  readonly path?: string | undefined;
  /** Of a stream; absent for its last event. */
  readonly of?: Part | undefined;
  /** In place of a path: the header of this name in lower case. */
  readonly header?: string | undefined;
  readonly unit?: string | undefined;
  /** It is spent, and must not run out. */
  readonly credit: boolean;
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

export type Upstream = {
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
  /** Absent where the answer is read as a whole. */
  readonly stream?: Stream | undefined;
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
  /** Absent where there are none. */
  readonly values?: readonly Value[] | undefined;
  readonly objective: Objective;
  /** Absent where none is told. */
  readonly sla?: Sla | undefined;
  readonly connection: "fresh" | "reuse";
  readonly proxy: Proxy;
  readonly tls: Tls;
  readonly labels: Readonly<Record<string, string>>;
  /** Where people look in an outage: URLs by name. */
  readonly links?: Readonly<Record<string, string>> | undefined;
  /** Its own or its budget's; absent where nobody says. */
  readonly price?: Price | undefined;
  /** The same for all of a config. */
  readonly denyAddresses?: readonly string[] | undefined;
};

/** Stands before the name of a link, in the label that has its URL. */
export const LINK_LABEL = "link_";

/** Where somebody listens. */
export type Address = { readonly host: string; readonly port: number };

export type Web = {
  readonly listen: Address;
  /** A second address, for probes alone. */
  readonly probeListen: Address | undefined;
  readonly configFile: string | undefined;
  readonly enableLifecycle: boolean;
  /** For people, if not the address that it listens on. */
  readonly pageUrl?: string | undefined;
  /** As written, if at all. */
  readonly allowedHosts: readonly string[] | undefined;
  /** Whether `/badge/NAME.svg` is served. */
  readonly badges: boolean;
};

export type RedisNodes =
  | ({ readonly kind: "single"; readonly database: number } & Address)
  | { readonly kind: "sentinel"; readonly master: string; readonly nodes: readonly Address[] };

export type LockRedis = {
  readonly nodes: RedisNodes;
  readonly username: string | undefined;
  readonly password: SecretSource | undefined;
  /** Undefined for a connection in plain text. */
  readonly tls: Omit<Tls, "insecureSkipVerify"> | undefined;
  /** Under which the lock stands there. */
  readonly key: string;
};

/** One of several processes leads, which is the one that holds the lock; the others stand by. */
export type Fleet = {
  readonly lock: { readonly redis: LockRedis };
  readonly ttlMs: number;
  /** Of this process. */
  readonly name: string;
  /** The URL of this process's page for people. */
  readonly advertise: string | undefined;
};

/** What a receiver can be told of. All but `up` begin, and `up` is their end. */
export const RECEIVER_EVENTS = [
  "down",
  "up",
  "unauthorized",
  "blocked",
  "throttled",
  "credit_ending",
  "api_ending",
  "offline",
  "config_refused",
  "state_lost",
] as const;
export type ReceiverEvent = (typeof RECEIVER_EVENTS)[number];

export const RECEIVER_KINDS = [
  "webhook",
  "slack",
  "discord",
  "teams",
  "ntfy",
  "telegram",
  "pagerduty",
  "alertmanager",
] as const;
export type ReceiverKind = (typeof RECEIVER_KINDS)[number];

/** Who is told of what. */
export type Receiver = {
  readonly name: string;
  readonly kind: ReceiverKind;
  /** Undefined where the kind has a URL of its own. */
  readonly url: SecretSource | undefined;
  /** What proves that it is us: what that is depends on the kind. */
  readonly key: SecretSource | undefined;
  /** Of Telegram. */
  readonly chat: string | undefined;
  readonly on: readonly ReceiverEvent[];
  /** All upstreams where it is undefined, and else those with all of these labels, and one of these names if there are any. */
  readonly only:
    | { readonly upstreams: readonly string[]; readonly labels: Readonly<Record<string, string>> }
    | undefined;
  readonly afterMs: number;
  readonly groupWaitMs: number;
  readonly remindMs: number | undefined;
};

/** Whether a receiver is to be told of an upstream. */
export function isOneOf(
  { upstreams, labels }: NonNullable<Receiver["only"]>,
  upstream: Pick<Upstream, "name" | "labels">,
): boolean {
  const hasLabels = Object.entries(labels).every(([name, value]) => upstream.labels[name] === value);
  return hasLabels && (upstreams.length === 0 || upstreams.includes(upstream.name));
}

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type Config = {
  readonly web: Web;
  readonly log: { readonly level: LogLevel };
  readonly state: { readonly path: string } | undefined;
  /** Undefined if this process is the only one. */
  readonly fleet: Fleet | undefined;
  /** Absent where nobody else watches. */
  readonly vantage?: Vantage | undefined;
  /** Networks and addresses that no poll may connect to; undefined for the default. */
  readonly denyAddresses?: readonly string[] | undefined;
  /** Absent where nobody is told. */
  readonly notify?: readonly Receiver[] | undefined;
  readonly budgets: readonly Budget[];
  readonly upstreams: readonly Upstream[];
};

export function isExpected({ status }: Pick<Expectation, "status">, code: number): boolean {
  return status.some((each) => each === code || each === `${Math.floor(code / 100)}xx`);
}

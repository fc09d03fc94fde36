import type { LookupAddress, RecordWithTtl } from "node:dns";
import { lookup, Resolver } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../kernel/time/clock.ts";
import { codeOf } from "../../kernel/text/escape.ts";
import { keepNewest } from "../../platform/remembered.ts";
import { sharedWhileUnderWay } from "../../platform/shared-work.ts";
import { nameReader, type NameSettings, type ReadNames } from "./system-files.ts";

/** A server gets this long for one answer, and is asked twice. */
const SERVER_TIMEOUT_MS = 2_000;
const SERVER_TRIES = 2;
/** How long the answer for one address family waits for that of the other. */
const OTHER_FAMILY_MS = 200;
/** However long a name server says that its answer holds. */
const LONGEST_TTL_MS = 300_000;
/** Of one family: more could not be tried in time. Some thousands, which an answer can hold, would take half a second. */
const MOST_ADDRESSES = 32;
/** As many as a config may have upstreams. */
const MANY_NAMES = 10_000;

export type AskSystem = (hostname: string) => Promise<LookupAddress[]>;

export type NameResolverParts = {
  readonly clock: Pick<Clock, "now">;
  readonly names?: ReadNames;
  /** Undefined: the system's own. */
  readonly servers?: readonly string[];
  readonly askSystem?: AskSystem;
};

type Resolved = { readonly addresses: LookupAddress[]; readonly ttlMs: number };

/**
 * Names to addresses for the whole process, so that no name can starve another.
 *
 * The system's getaddrinfo takes one of a few threads and keeps it until it has an answer: two names whose servers are
 * silent stop all others, `localhost` included. Here the files are read first, then the name servers are asked over
 * sockets of our own, without a thread. Only a name that neither knows goes to getaddrinfo, where the system has more
 * sources, and one at a time.
 *
 * One question is in flight for each name, and its answer serves everybody who asks meanwhile, and until its TTL ends.
 */
export class NameResolver {
  readonly #clock: Pick<Clock, "now">;
  readonly #names: ReadNames;
  readonly #servers: readonly string[] | undefined;
  readonly #askSystem: AskSystem;
  readonly #known = new Map<string, { readonly addresses: LookupAddress[]; readonly untilMs: number }>();
  readonly #resolved: (name: string) => Promise<Resolved> = sharedWhileUnderWay((name) => this.#ask(name));
  #resolver: Resolver;
  #system: Promise<unknown> = Promise.resolve();

  constructor({
    clock,
    names = nameReader(),
    servers,
    askSystem = (name) => lookup(name, { all: true }),
  }: NameResolverParts) {
    this.#clock = clock;
    this.#names = names;
    this.#servers = servers;
    this.#askSystem = askSystem;
    this.#resolver = this.#newResolver();
  }

  async addressesOf(hostname: string): Promise<LookupAddress[]> {
    const name = hostname.toLowerCase();
    const known = this.#known.get(name);
    if (known !== undefined && this.#clock.now() < known.untilMs) return known.addresses;
    return (await this.#resolved(name)).addresses;
  }

  /** Its addresses did not answer: the next one who asks gets new ones. */
  forget(hostname: string): void {
    this.#known.delete(hostname.toLowerCase());
  }

  async #ask(name: string): Promise<Resolved> {
    const settings = this.#names(() => {
      this.#resolver = this.#newResolver();
      this.#known.clear();
    });
    const listed = settings.hosts.get(name) ?? loopbackOf(name);
    if (listed !== undefined) return { addresses: [...listed], ttlMs: 0 };
    const resolved = await this.#resolve(name, settings);
    const { addresses, ttlMs } = resolved;
    const untilMs = this.#clock.now() + ttlMs;
    if (ttlMs > 0) keepNewest(this.#known, name, { addresses, untilMs }, MANY_NAMES);
    return resolved;
  }

  async #resolve(name: string, settings: NameSettings): Promise<Resolved> {
    let failure: unknown = failureOf("ENOTFOUND");
    for (const candidate of candidatesOf(name, settings)) {
      try {
        return await this.#query(candidate);
      } catch (error) {
        failure = error;
        if (!isUnknownName(error) && codeOf(error) !== "ESERVFAIL") throw error;
      }
    }
    if (settings.hasOtherSources && isUnknownName(failure)) return this.#fromSystem(name);
    throw failure;
  }

  /** Both families at once. Whichever has an address does not wait long for the other. */
  async #query(name: string): Promise<Resolved> {
    const resolver = this.#resolver;
    const families = [
      answerOf(resolver.resolve4(name, { ttl: true }), 4),
      answerOf(resolver.resolve6(name, { ttl: true }), 6),
    ];
    const first = await Promise.race(families);
    const late = first.kind === "found" ? [sleep(OTHER_FAMILY_MS, LATE, { ref: false })] : [];
    const answers = await Promise.all(families.map((family) => Promise.race([family, ...late])));
    const found = answers.filter((answer) => answer.kind === "found");
    if (found.length > 0) {
      const addresses = found.flatMap(({ addresses }) => addresses);
      const preferred = hasGlobalIPv6(networkInterfaces()) ? 6 : 4;
      addresses.sort((a, b) => Number(b.family === preferred) - Number(a.family === preferred));
      return { addresses, ttlMs: Math.min(LONGEST_TTL_MS, ...found.map(({ ttlMs }) => ttlMs)) };
    }
    const failures = answers.flatMap((answer) => (answer.kind === "failed" ? [answer.error] : []));
    throw failures.find((error) => !isUnknownName(error)) ?? failures[0] ?? failureOf("ENOTFOUND");
  }

  #fromSystem(name: string): Promise<Resolved> {
    const asking = this.#system.then(async () => ({ addresses: await this.#askSystem(name), ttlMs: 0 }));
    this.#system = asking.catch(() => undefined);
    return asking;
  }

  #newResolver(): Resolver {
    const resolver = new Resolver({
      timeout: SERVER_TIMEOUT_MS,
      maxTimeout: SERVER_TIMEOUT_MS,
      tries: SERVER_TRIES,
    });
    if (this.#servers !== undefined) resolver.setServers(this.#servers);
    return resolver;
  }
}

type FamilyAnswer =
  | { readonly kind: "found"; readonly addresses: readonly LookupAddress[]; readonly ttlMs: number }
  | { readonly kind: "failed"; readonly error: unknown };

const LATE: FamilyAnswer = { kind: "failed", error: failureOf("ETIMEOUT") };

async function answerOf(asked: Promise<RecordWithTtl[]>, family: 4 | 6): Promise<FamilyAnswer> {
  try {
    const records = (await asked).slice(0, MOST_ADDRESSES);
    if (records.length === 0) return { kind: "failed", error: failureOf("ENODATA") };
    const addresses = records.map(({ address }) => ({ address, family }));
    return { kind: "found", addresses, ttlMs: 1_000 * Math.min(...records.map(({ ttl }) => ttl)) };
  } catch (error) {
    return { kind: "failed", error };
  }
}

/** The order of the C library: a name with few dots is tried inside of the search domains first. */
export function candidatesOf(
  name: string,
  { search, ndots }: Pick<NameSettings, "search" | "ndots">,
): readonly string[] {
  if (name.endsWith(".")) return [name.slice(0, -1)];
  if (name.endsWith(".invalid")) return [];
  const within = search.map((domain) => `${name}.${domain}`);
  const dots = name.split(".").length - 1;
  return dots >= ndots ? [name, ...within] : [...within, name];
}

/** Whatever a name server would say of it. */
function loopbackOf(name: string): readonly LookupAddress[] | undefined {
  if (!/(?:^|\.)localhost\.?$/.test(name)) return undefined;
  return [
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ];
}

/** Links and private networks have addresses too, of which none leads out: each poll would first try in vain. */
export function hasGlobalIPv6(interfaces: ReturnType<typeof networkInterfaces>): boolean {
  return Object.values(interfaces).some((addresses) =>
    addresses?.some(
      ({ family, internal, address }) => family === "IPv6" && !internal && /^[23][\da-f]{3}:/.test(address),
    ),
  );
}

/** The name servers answered, and know no address of that name. */
function isUnknownName(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ENOTFOUND" || code === "ENODATA";
}

function failureOf(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`cannot resolve a name: ${code}`), { code });
}

import type { RawConfig, RawUpstream } from "../../test/support/config-folder.ts";
import type { UpstreamsAddress } from "./upstreams.ts";

export type SoakPlan = {
  readonly upstreams: number;
  readonly address: UpstreamsAddress;
  readonly statePath: string;
};

const PER_KIND_OF_HUNDRED = { throttling: 2, secure: 2, kept: 20 } as const;

type Kind = "throttling" | "secure" | "kept" | "plain";

function kindOf(index: number): Kind {
  const place = index % 100;
  const { throttling, secure, kept } = PER_KIND_OF_HUNDRED;
  if (place < throttling) return "throttling";
  if (place < throttling + secure) return "secure";
  return place < throttling + secure + kept ? "kept" : "plain";
}

const GUESTS = 10;
const OWN_BUDGET = { rate: { requests: 1_200, per: "1m" }, share: "50%" };

/**
 * Every upstream once a second; half of them without confirmations, so that their slots can be counted exactly. Each
 * generation has guests that no other has, and asks some of the others with another header: those keep their counters.
 */
export function soakConfig(plan: SoakPlan, generation: number): RawConfig {
  const guests = Array.from({ length: GUESTS }, (_, index) => guest(plan, generation * GUESTS + index));
  return configOf(plan, [...residents(plan, "1s", generation), ...guests]);
}

/** The same upstreams, hardly ever. */
export function restingConfig(plan: SoakPlan): RawConfig {
  return configOf(plan, residents(plan, "1h", 0));
}

function configOf({ upstreams, statePath }: SoakPlan, all: readonly RawUpstream[]): RawConfig {
  const own = all.flatMap(({ budget }) => (budget === "shared" ? [] : [[String(budget), OWN_BUDGET]]));
  return {
    state: { path: statePath },
    // Room for every poll and its confirmation, twice.
    budgets: {
      shared: { rate: { requests: (upstreams + GUESTS) * 480, per: "1m" }, share: "50%" },
      ...Object.fromEntries(own),
    },
    upstreams: all,
  };
}

function residents(plan: SoakPlan, every: string, generation: number): readonly RawUpstream[] {
  return Array.from({ length: plan.upstreams }, (_, index) => resident(plan, index, every, generation));
}

function resident({ address }: SoakPlan, index: number, every: string, generation: number): RawUpstream {
  const kind = kindOf(index);
  const name = `${kind}${index}`;
  return {
    ...common(name, kind === "secure" ? address.https : httpOf(address, index)),
    budget: kind === "throttling" ? name : "shared",
    every,
    confirm: index % 2,
    ...(kind === "kept" ? { connection: "reuse", headers: { "X-Generation": String(generation) } } : {}),
    ...(kind === "secure" ? { tls: { ca_file: address.caFile } } : {}),
  };
}

/** On a timetable of their own: the others' slots stay where they are. */
function guest({ address }: SoakPlan, index: number): RawUpstream {
  const name = `guest${String(index).padStart(6, "0")}`;
  return { ...common(name, httpOf(address, index)), budget: "shared", every: "2s", confirm: 0 };
}

function common(name: string, url: string): RawUpstream {
  return { name, base_url: `${url}/${name}`, auth: { none: true }, proxy: "none", timeout: "900ms" };
}

function httpOf({ http }: UpstreamsAddress, index: number): string {
  return http[index % http.length] ?? "";
}

export function isResident(upstream: string): boolean {
  return !upstream.startsWith("guest");
}

export function isWithoutConfirmations(upstream: string): boolean {
  return isResident(upstream) && Number(/\d+$/.exec(upstream)?.[0]) % 2 === 0;
}

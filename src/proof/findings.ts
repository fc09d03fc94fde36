import { leasesOfSlowPolls } from "../kernel/budget/needs.ts";
import type { Budget, Upstream } from "../kernel/config/config.ts";
import { formatUnits } from "../features/money/price.ts";
import { listing } from "../kernel/text/listing.ts";
import { formatPercentage } from "../kernel/text/percent.ts";
import { formatDuration } from "../kernel/time/duration.ts";
import { adviceForQuota, adviceForRates } from "./suggestions.ts";
import { leaseRatesOf } from "../kernel/budget/leases.ts";
import type { BudgetProof, BudgetUse, QuotaProof, RateProof } from "./numbers.ts";
import { allServedInTime, asksOf, paceOf } from "./pace.ts";

export type Subject =
  | { readonly kind: "rate"; readonly budget: string; readonly index: number }
  | { readonly kind: "quota" | "spend"; readonly budget: string }
  | { readonly kind: "budget"; readonly budget: string }
  /** Of what it draws on, how often it is polled, or what that costs. */
  | { readonly kind: "upstream"; readonly upstream: string; readonly about: "budget" | "schedule" | "price" };

export type Finding = { readonly subject: Subject; readonly message: string };

export function faultsOf(proof: BudgetProof, use: BudgetUse): readonly Finding[] {
  const { budget } = use;
  const faults: Finding[] = [];
  const broken = proof.fits
    ? []
    : [...proof.rates.entries()].filter(([, { cap, headroom }]) => cap < 1 || headroom < 0);
  const advice = broken.length === 0 ? "" : adviceForRates(use);
  for (const [index, rate] of broken) {
    const subject: Subject = { kind: "rate", budget: budget.name, index };
    const sentence = rate.cap < 1 ? nothingAllowed : tooMuch;
    faults.push({ subject, message: sentence(rate, budget, advice) });
  }
  for (const early of spentEarly(proof)) {
    const kind = kindOf(early);
    const subject: Subject = { kind, budget: budget.name };
    if (early.quota.most < early.dearest) {
      const poll = kind === "quota" ? "a poll" : `a poll of up to ${unitsOf(early.dearest, early)}`;
      const message = `budget "${budget.name}" has no room for ${poll}: ${mostOf(early, budget)}`;
      faults.push({ subject, message });
    } else if (early.quota.onExhaust === "refuse") {
      const message = `budget "${budget.name}" would use up its ${kind} early: ${askedOf(early, budget)}: ${adviceForQuota(early, use)}`;
      faults.push({ subject, message });
    }
  }
  return faults;
}

function nothingAllowed({ rate }: RateProof, budget: Budget, advice: string): string {
  return `budget "${budget.name}" allows nothing: ${shareOf(`${rate.requests} in ${rate.label}`, budget, ",")} is less than one request: ${advice}`;
}

function tooMuch({ rate, cap, demand, upstreams }: RateProof, budget: Budget, advice: string): string {
  const parts = upstreams.map(
    ({ upstream, slots, confirm }) => `${upstream}: ${slots} × (1 + ${confirm} to confirm)`,
  );
  return `budget "${budget.name}" does not fit: its upstreams may ask for ${demand} requests in ${rate.label} (${listing(parts)}), its cap is ${cap} (${shareOf(`${rate.requests}`, budget)}): ${advice}`;
}

function shareOf(limit: string, { share, vantage }: Budget, comma = ""): string {
  const whole = `${formatPercentage(share)} of ${limit}`;
  return vantage === undefined ? whole : `${whole}, divided by ${vantage.of} vantages${comma}`;
}

function spentEarly({ quota, spend }: BudgetProof): readonly QuotaProof[] {
  return [quota, spend].filter((proof) => proof !== undefined).filter((proof) => proof.spentEarly);
}

function kindOf({ currency }: QuotaProof): "quota" | "spend" {
  return currency === undefined ? "quota" : "spend";
}

function askedOf(proof: QuotaProof, budget: Budget): string {
  const asked = unitsOf(proof.scheduled, proof);
  return `its schedules ask for ${asked} in ${formatDuration(proof.quota.perMs)}, ${mostOf(proof, budget)}`;
}

function mostOf(proof: QuotaProof, { vantage }: Budget): string {
  const part = vantage === undefined ? "" : `, one of ${vantage.of} equal parts`;
  return `the ${kindOf(proof)} is ${formatUnits(proof.quota.most, proof.currency)}${part}`;
}

function unitsOf(units: number, { currency }: QuotaProof): string {
  return `${formatUnits(units, currency)} ${currency ?? "requests"}`;
}

/** A spend keeps only what is known to cost something, in its one currency. */
export function priceFaults(
  budgets: readonly Budget[],
  byBudget: ReadonlyMap<string, readonly Upstream[]>,
): readonly Finding[] {
  const priced = new Set(budgets.flatMap(({ name, price }) => (price === undefined ? [] : [name])));
  const faults = new Map<Upstream, string>();
  for (const { name, spend } of budgets) {
    const drawing = byBudget.get(name) ?? [];
    const first = drawing.find(({ price }) => price !== undefined);
    for (const upstream of drawing) {
      const { price } = upstream;
      const prices = upstream.budgets.filter((each) => priced.has(each));
      if (price === undefined && prices.length > 1)
        faults.set(
          upstream,
          `draws on budgets that each have a price, "${prices.join('" and "')}": give it the price that counts`,
        );
      else if (spend !== undefined && price === undefined)
        faults.set(
          upstream,
          `has no price, and draws on the spend of budget "${name}": give it or the budget a price, such as { per_request: 0.001, currency: EUR }, or per_request: 0 if it is free`,
        );
      else if (spend !== undefined && price?.currency !== first?.price?.currency)
        faults.set(
          upstream,
          `has a price in ${price?.currency}, and "${first?.name}" one in ${first?.price?.currency}: the spend of budget "${name}" is in one currency`,
        );
    }
  }
  return [...faults].map(([{ name }, why]) => ({
    subject: { kind: "upstream", upstream: name, about: "price" },
    message: `upstream "${name}" ${why}`,
  }));
}

export function warningsOf(proof: BudgetProof, use: BudgetUse): readonly Finding[] {
  const { budget, upstreams } = use;
  const subject: Subject = { kind: "budget", budget: budget.name };
  if (upstreams.length === 0) return [{ subject, message: `budget "${budget.name}" has no upstream` }];
  const warnings: Finding[] = [];
  for (const early of spentEarly(proof)) {
    if (early.quota.onExhaust !== "stop") continue;
    const message = `budget "${budget.name}" will stop before its period ends: ${askedOf(early, budget)}`;
    warnings.push({ subject: { kind: kindOf(early), budget: budget.name }, message });
  }
  warnings.push(...tightness(proof, use));
  return warnings;
}

/** A lease is held for its poll and then a window. So slots that fill the cap exactly, or the pace, fall behind. */
function tightness(proof: BudgetProof, { budget, upstreams }: BudgetUse): readonly Finding[] {
  if (!proof.fits) return [];
  const asks = asksOf(upstreams);
  const pollMs = Math.max(...upstreams.map(({ timeoutMs }) => timeoutMs)) + budget.lingerMs;
  const slowPace = paceOf(leaseRatesOf(budget), pollMs);
  const isSlowInTime = allServedInTime(asks, slowPace);
  const warnings: Finding[] = [];
  for (const [index, { rate, cap, headroom }] of proof.rates.entries()) {
    const held = leasesOfSlowPolls(upstreams, rate.perMs, budget.lingerMs);
    if (held <= cap || (headroom < 0 && isSlowInTime)) continue;
    const message = `budget "${budget.name}" is tight: slow polls may hold ${held} leases for ${rate.label} at once, its cap is ${cap}, so some slots will be late or skipped`;
    warnings.push({ subject: { kind: "rate", budget: budget.name, index }, message });
  }
  return warnings;
}

export function crowdedWarning({ budget, paceGapMs }: BudgetProof): Finding {
  const message = `budget "${budget}" is tight: some of its upstreams also draw on other budgets, and before each of their requests it may be idle for up to ${formatDuration(Math.ceil(paceGapMs))}, so some slots may be late or skipped`;
  return { subject: { kind: "budget", budget }, message };
}

/** `keys`: by the names of the upstreams. It is equal for two that use the same key. */
export function sharedKeys(
  upstreams: readonly Upstream[],
  keys: ReadonlyMap<string, string>,
): readonly Finding[] {
  const firstByKey = new Map<string, Upstream>();
  const warnings: Finding[] = [];
  for (const upstream of upstreams) {
    const key = keys.get(upstream.name);
    if (key === undefined) continue;
    const first = firstByKey.get(key);
    if (first === undefined) firstByKey.set(key, upstream);
    else if (!first.budgets.some((budget) => upstream.budgets.includes(budget))) {
      const [firstBudgets, budgets] = [first, upstream].map((each) => each.budgets.join('", "'));
      const message = `upstreams "${first.name}" and "${upstream.name}" use the same key but draw on the budgets "${firstBudgets}" and "${budgets}": what one key may send should be one budget`;
      warnings.push({ subject: { kind: "upstream", upstream: upstream.name, about: "budget" }, message });
    }
  }
  return warnings;
}

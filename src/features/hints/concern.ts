/**
 * An upstream may draw on several budgets, and an answer seldom says whose limit it speaks of. It is taken for that of
 * the most specific one, so that a model's refusal does not silence its account; unless the answer says otherwise, or
 * another part of the wider budget is refused within the same window.
 */

import type { AnswerHints } from "./fields/answer-hints.ts";
import type { LimitFamily } from "./fields/limits.ts";
import { policyKey } from "./fields/structured-fields.ts";
import type { Budget, Config } from "../../kernel/config/config.ts";

/** `upstreams`: so many draw on it. */
export type Draw = { readonly budget: Budget; readonly upstreams: number };

/** In the order of the upstream's config. */
export function drawsOn(
  names: readonly string[],
  { budgets, upstreams }: Pick<Config, "budgets" | "upstreams">,
): readonly Draw[] {
  return names.flatMap((name) =>
    budgets
      .filter((budget) => budget.name === name)
      .map((budget) => ({
        budget,
        upstreams: upstreams.filter((upstream) => upstream.budgets.includes(name)).length,
      })),
  );
}

export const WHY = {
  most_specific: "the fewest upstreams draw on it",
  its_number: "the answer tells its limit",
  its_name: "the answer names it",
  whole_account: "the answer speaks of the whole account",
  others_refused: "upstreams of other budgets were refused within the same window",
} as const;

/** Why an answer was taken for one about this budget. */
export type Why = keyof typeof WHY;

/** The budgets whose limit a refusal, or a pause that is asked for, was taken for. */
export type Whose = ReadonlyMap<string, Why>;

const NOBODYS: Whose = new Map();

export type Concern = {
  readonly held: Whose;
  /** Each of them hears this; a budget that the answer says nothing of is left out. */
  readonly heard: ReadonlyMap<string, AnswerHints>;
};

/** `draws`: of the budgets of the upstream that was answered, in the order of its config; at least two. */
export function concernOf(draws: readonly Draw[], hints: AnswerHints): Concern {
  const isHeldBack = hints.throttled || hints.pause !== undefined;
  const held = isHeldBack ? heldBy(draws, hints) : NOBODYS;
  const heard = new Map<string, AnswerHints>();
  for (const { budget } of draws) {
    const isHeld = held.has(budget.name);
    const families = hints.families.filter((family) => {
      const { limit, unit } = family;
      const owner =
        unit === "requests" && limit !== undefined ? ownerOf(draws, hints, family).budget : budget;
      return owner === budget;
    });
    const left = hints.remaining;
    const isLeftOfIt = left !== undefined && ownerOf(draws, hints, { limit: left.limit }).budget === budget;
    // A refusal by another limit does not say that this one is kept.
    if (hints.throttled && !isHeld && families.length === 0 && !isLeftOfIt) continue;
    heard.set(budget.name, {
      ...hints,
      families,
      remaining: isLeftOfIt ? left : undefined,
      throttled: hints.throttled && isHeld,
      pause: isHeld ? hints.pause : undefined,
    });
  }
  return { held, heard };
}

/** Others of this budget were refused too. */
export function alsoHeld({ held, heard }: Concern, budget: string, hints: AnswerHints): Concern {
  const { families = [], remaining } = heard.get(budget) ?? {};
  return {
    held: new Map([...held, [budget, "others_refused"]]),
    heard: new Map([...heard, [budget, { ...hints, families, remaining }]]),
  };
}

function heldBy(draws: readonly Draw[], hints: AnswerHints): Whose {
  const spent = hints.families.filter(({ remaining }) => remaining !== undefined && remaining <= 0);
  const unknown = hints.families.filter(({ remaining }) => remaining === undefined);
  for (const family of [...spent, ...unknown]) {
    const { budget, why } = ownerOf(draws, hints, family);
    if (why !== "most_specific") return new Map([[budget.name, why]]);
  }
  const { budget, why } = ownerOf(draws, hints, { limit: undefined });
  return new Map([[budget.name, why]]);
}

type Told = Pick<LimitFamily, "limit"> & Partial<Pick<LimitFamily, "key" | "perMs" | "resource" | "unit">>;

function ownerOf(
  draws: readonly Draw[],
  { isOfWholeAccount }: AnswerHints,
  told: Told,
): Draw & { readonly why: Why } {
  const named = draws.filter(({ budget }) => names(told, budget));
  if (named.length === 1 && named[0] !== undefined) return { ...named[0], why: "its_name" };
  const numbered = draws.filter(({ budget }) => tellsLimitOf(told, budget));
  if (numbered.length === 1 && numbered[0] !== undefined) return { ...numbered[0], why: "its_number" };
  if (isOfWholeAccount === true) return { ...widest(draws), why: "whole_account" };
  return { ...mostSpecific(numbered.length > 1 ? numbered : draws), why: "most_specific" };
}

/** The name of a policy, or of a resource, is that of the budget. */
function names({ key, resource }: Told, { name }: Budget): boolean {
  return key === policyKey(name) || resource === name;
}

function tellsLimitOf({ limit, perMs, unit = "requests" }: Told, { rates }: Budget): boolean {
  return (
    unit === "requests" &&
    rates.some((rate) => rate.requests === limit && (perMs ?? rate.perMs) === rate.perMs)
  );
}

/** The first of them where they tie. */
function mostSpecific(draws: readonly Draw[]): Draw {
  return draws.reduce((a, b) => (b.upstreams < a.upstreams ? b : a));
}

/** The last of them where they tie. */
function widest(draws: readonly Draw[]): Draw {
  return draws.reduce((a, b) => (b.upstreams >= a.upstreams ? b : a));
}

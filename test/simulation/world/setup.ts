import type { Config, Upstream } from "../../../src/kernel/config/config.ts";
import { crowdedBudgets } from "../../../src/proof/crowding.ts";
import { prove } from "../../../src/proof/proof.ts";
import { sampleConfig } from "../../support/kernel-samples.ts";
import type { Account, Edit, Setup } from "./scenario.ts";
import { PROOF_PARTS } from "../../../src/app/features/proof.ts";

export function configOf(setup: Setup): Config {
  return sampleConfig({
    budgets: setup.accounts.map(({ budget }) => budget),
    upstreams: setup.upstreams,
  });
}

export function accountOf(setup: Setup, budget: string): Account | undefined {
  return setup.accounts.find((account) => account.budget.name === budget);
}

/** Upstreams whose slots the proof calls safe: not those of a budget that is tight because some need another one too. */
export function servedInTime(setup: Setup): readonly Upstream[] {
  const config = configOf(setup);
  const crowded = [...crowdedBudgets(config)];
  // Who waits long in a crowded budget is late in all of his others, and in front of those who draw on them.
  for (const name of crowded) {
    const together = setup.upstreams.filter(({ budgets }) => budgets.includes(name));
    for (const other of together.flatMap(({ budgets }) => budgets))
      if (!crowded.includes(other)) crowded.push(other);
  }
  return setup.upstreams.filter(({ budgets }) => !budgets.some((budget) => crowded.includes(budget)));
}

/** The keys that count a request of this upstream, in the order of its budgets. */
export function credentialsOf(setup: Setup, { budgets }: Pick<Upstream, "budgets">): readonly string[] {
  return budgets.map((budget) => accountOf(setup, budget)?.credential ?? "");
}

export function budgetNameOf(setup: Setup, credential: string): string | undefined {
  return setup.accounts.find((account) => account.credential === credential)?.budget.name;
}

/** The setup after an edit; the same one where the edit finds nothing to change, or the proof refuses it. */
export function edited(setup: Setup, edit: Edit): Setup {
  const wanted = changed(setup, edit);
  return wanted !== setup && fits(wanted) ? wanted : setup;
}

export function fits(setup: Setup): boolean {
  const names = setup.accounts.map(({ budget }) => budget.name);
  if (new Set(names).size < names.length) return false;
  const known = setup.upstreams.flatMap(({ budgets }) => budgets).every((budget) => names.includes(budget));
  if (!known || setup.upstreams.some(({ budgets }) => new Set(budgets).size < budgets.length)) return false;
  return setup.upstreams.length > 0 && prove(configOf(setup), PROOF_PARTS).faults.length === 0;
}

function changed(setup: Setup, edit: Edit): Setup {
  switch (edit.kind) {
    case "none":
      return setup;
    case "rename":
      return renamed(setup, edit.credential, edit.to);
    case "share":
    case "rates":
    case "linger":
      return withBudget(setup, edit);
    case "timing": {
      const { schedule, timeoutMs, confirm } = edit;
      return withUpstream(setup, edit.upstream, { schedule, timeoutMs, confirm });
    }
    case "move": {
      const budgets = edit.credentials
        .map((credential) => budgetNameOf(setup, credential))
        .filter((budget) => budget !== undefined);
      return budgets.length === 0 ? setup : withUpstream(setup, edit.upstream, { budgets });
    }
    case "remove":
      return { ...setup, upstreams: setup.upstreams.filter(({ name }) => name !== edit.upstream) };
    case "add":
      return added(setup, edit);
    case "close_account":
      return closed(setup, edit.credential);
    case "open_account":
      return opened(setup, edit);
    default:
      return edit satisfies never;
  }
}

function renamed(setup: Setup, credential: string, to: string): Setup {
  const from = budgetNameOf(setup, credential);
  return {
    accounts: setup.accounts.map((account) =>
      account.credential === credential ? { ...account, budget: { ...account.budget, name: to } } : account,
    ),
    upstreams: setup.upstreams.map((upstream) =>
      from !== undefined && upstream.budgets.includes(from)
        ? { ...upstream, budgets: upstream.budgets.map((budget) => (budget === from ? to : budget)) }
        : upstream,
    ),
  };
}

function withBudget(setup: Setup, edit: Extract<Edit, { kind: "share" | "rates" | "linger" }>): Setup {
  const { kind: _kind, credential, ...changes } = edit;
  const accounts = setup.accounts.map((account) =>
    account.credential === credential ? { ...account, budget: { ...account.budget, ...changes } } : account,
  );
  return { ...setup, accounts };
}

function withUpstream(setup: Setup, name: string, changes: Partial<Setup["upstreams"][number]>): Setup {
  if (!setup.upstreams.some((upstream) => upstream.name === name)) return setup;
  const upstreams = setup.upstreams.map((upstream) =>
    upstream.name === name ? { ...upstream, ...changes } : upstream,
  );
  return { ...setup, upstreams };
}

function added(setup: Setup, { credential, upstream }: Extract<Edit, { kind: "add" }>): Setup {
  const budget = budgetNameOf(setup, credential);
  const isKnown = setup.upstreams.some(({ name }) => name === upstream.name);
  if (budget === undefined || isKnown) return setup;
  return { ...setup, upstreams: [...setup.upstreams, { ...upstream, budgets: [budget] }] };
}

function closed(setup: Setup, credential: string): Setup {
  const budget = budgetNameOf(setup, credential);
  return {
    accounts: setup.accounts.filter((account) => account.credential !== credential),
    upstreams: setup.upstreams
      .map((upstream) => without(upstream, budget))
      .filter((upstream) => upstream.budgets.length > 0),
  };
}

function opened(setup: Setup, { account, upstreams }: Extract<Edit, { kind: "open_account" }>): Setup {
  if (setup.accounts.some(({ credential }) => credential === account.credential)) return setup;
  const names = new Set(setup.upstreams.map(({ name }) => name));
  return {
    accounts: [...setup.accounts, account],
    upstreams: [...setup.upstreams, ...upstreams.filter(({ name }) => !names.has(name))],
  };
}

function without(upstream: Upstream, budget: string | undefined): Upstream {
  if (budget === undefined || !upstream.budgets.includes(budget)) return upstream;
  return { ...upstream, budgets: upstream.budgets.filter((each) => each !== budget) };
}

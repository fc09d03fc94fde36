import type { Dice } from "./dice.ts";
import { drawAccount, drawUpstream, rateFor, STYLES } from "./setup.ts";
import type { Account, Edit, Setup } from "../world/scenario.ts";
import { edited } from "../world/setup.ts";

const KINDS = [
  "rename",
  "rename",
  "share",
  "limits",
  "limits",
  "windows",
  "linger",
  "timing",
  "timing",
  "move",
  "remove",
  "add",
  "close_account",
  "open_account",
  "none",
] as const;
const MOST_TRIES = 8;

/** What was taken out of the config, and may come back. */
export type Closed = { readonly account: Account; readonly upstreams: Setup["upstreams"] };

/** An edit that the proof accepts, or one that changes nothing. */
export function drawEdit(
  setup: Setup,
  closed: readonly Closed[],
  gone: readonly string[],
  tag: string,
  dice: Dice,
): Edit {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const edit = propose(setup, closed, gone, tag, dice);
    if (edit.kind === "none" || edited(setup, edit) !== setup) return edit;
  }
  return { kind: "none" };
}

function propose(
  setup: Setup,
  closed: readonly Closed[],
  gone: readonly string[],
  tag: string,
  dice: Dice,
): Edit {
  const account = dice.pick(setup.accounts);
  const upstream = dice.pick(setup.upstreams);
  const { credential, budget } = account;
  const kind = dice.pick(KINDS);
  switch (kind) {
    case "none":
      return { kind };
    case "rename":
      return { kind, credential, to: otherName(budget.name, tag, dice) };
    case "share":
      return { kind, credential, share: Math.min(1, budget.share * dice.pick([0.5, 0.8, 1.25, 2, 100])) };
    case "limits":
    case "windows":
      return { kind: "rates", credential, rates: drawRates(setup, account, kind, dice) };
    case "linger":
      return { kind, credential, lingerMs: dice.pick([0, 250, 1_000, 5_000]) };
    case "timing": {
      const { schedule, timeoutMs, confirm } = drawUpstream(upstream.name, budget.name, dice);
      return { kind, upstream: upstream.name, schedule, timeoutMs, confirm };
    }
    case "move":
      return { kind, upstream: upstream.name, credentials: someOf(setup, credential, dice.fork(tag)) };
    case "remove":
      return { kind, upstream: upstream.name };
    case "add": {
      const name = gone.length > 0 && dice.chance(0.5) ? dice.pick(gone) : `${credential}-${tag}`;
      return { kind, credential, upstream: drawUpstream(name, budget.name, dice) };
    }
    case "close_account":
      return { kind, credential };
    case "open_account":
      return reopen(closed, tag, dice);
    default:
      return kind satisfies never;
  }
}

/** One that it never had, or the one that it had first. */
export function otherName(name: string, tag: string, dice: Dice): string {
  const [stem = name] = name.split("-");
  return name !== stem && dice.chance(0.4) ? stem : `${stem}-${tag}`;
}

/** This key alone, or together with another one. */
function someOf({ accounts }: Setup, credential: string, dice: Dice): readonly string[] {
  const others = accounts.map((account) => account.credential).filter((each) => each !== credential);
  return others.length === 0 || dice.chance(0.5) ? [credential] : [credential, dice.pick(others)];
}

function drawRates(
  setup: Setup,
  { budget }: Account,
  kind: "limits" | "windows",
  dice: Dice,
): Account["budget"]["rates"] {
  const drawers = setup.upstreams.filter((upstream) => upstream.budgets.includes(budget.name));
  if (kind === "limits") {
    const factor = dice.pick([0.5, 0.8, 1.2, 2]);
    return budget.rates.map((rate) => ({
      ...rate,
      requests: Math.max(1, Math.round(rate.requests * factor)),
    }));
  }
  const [first, ...others] = budget.rates;
  if (first !== undefined && others.length > 0) return dice.chance(0.5) ? [first] : others;
  const perMs = dice.pick([1_000, 3_000, 20_000, 90_000]);
  if (budget.rates.some((rate) => rate.perMs === perMs)) return budget.rates;
  return [...budget.rates, rateFor(drawers, perMs, budget.share, dice.whole(0, 4))];
}

function reopen(closed: readonly Closed[], tag: string, dice: Dice): Edit {
  if (closed.length === 0) return { kind: "none" };
  const { account, upstreams } = dice.pick(closed);
  if (dice.chance(0.7)) return { kind: "open_account", account, upstreams };
  // The key is the same, whatever the budget is called and allows when it comes back.
  const drawn = drawAccount(account.credential, `${account.budget.name.split("-")[0]}-${tag}`, STYLES, dice);
  return { kind: "open_account", ...drawn };
}

export function closedBy(edit: Edit, setup: Setup): Closed | undefined {
  if (edit.kind !== "close_account") return undefined;
  const account = setup.accounts.find(({ credential }) => credential === edit.credential);
  if (account === undefined) return undefined;
  const upstreams = setup.upstreams.filter(({ budgets }) => budgets.includes(account.budget.name));
  return { account, upstreams };
}

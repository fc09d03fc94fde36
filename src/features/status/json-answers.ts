/** The answers of the JSON API: the same facts as on the pages. */

import { incidentsOfAll } from "./incidents.ts";
import { jsonPieces, type Pieces } from "./pieces.ts";
import { budgetsOf, diagnosisOf } from "./verdict.ts";
import type { Status, UpstreamFacts } from "./status.ts";

/** An upstream in the list has its last poll in place of its history. */
export function* listAnswer(status: Status): Pieces {
  const { version, startedAtMs, nowMs, ready, vantage, fleet } = status;
  const { offline, stateStoreUp, stateLostAtMs, lastReload } = status;
  const process = { version, startedAtMs, nowMs, ready, vantage, fleet };
  const own = { ...process, offline, stateStoreUp, stateLostAtMs, lastReload };
  const incidents = yield* incidentsOfAll(status);
  const upstreams = listedUpstreams(status);
  const budgets = Iterator.from(status.budgets)
    .map((name) => status.budget(name))
    .filter((budget) => budget !== undefined);
  yield* jsonPieces({ ...own, upstreams, budgets, incidents });
}

function* listedUpstreams(status: Status): Generator<object> {
  for (const { name, lastPoll } of status.upstreams) {
    const facts = status.facts(name);
    if (facts !== undefined) yield { ...shownFacts(facts, status), lastPoll };
  }
}

export function* incidentsAnswer(status: Status): Pieces {
  yield* jsonPieces({ nowMs: status.nowMs, incidents: yield* incidentsOfAll(status) });
}

/** Undefined if no upstream has this name. */
export function upstreamAnswer(status: Status, name: string): object | undefined {
  const facts = status.facts(name);
  if (facts === undefined) return undefined;
  const { lastPolls, lastFailures, values } = facts;
  const valueHistories = values?.map((value) => ({
    name: value.name,
    points: status.valueHistory(name, value.name),
  }));
  return {
    nowMs: status.nowMs,
    upstream: { ...shownFacts(facts, status), lastPolls, lastFailures, valueHistories },
    budgets: budgetsOf(facts, status),
    incidents: status.incidentsOf(name),
  };
}

/** Without what is long, or is told by something else. */
function shownFacts(facts: UpstreamFacts, status: Status): object {
  const without = {
    usualGapMs: undefined,
    lastPoll: undefined,
    lastPolls: undefined,
    lastFailures: undefined,
  };
  return { ...facts, ...without, diagnosis: diagnosisOf(facts, status) };
}

/** Whoever stands by shows none: its leader does. */
export function missingUpstreamAnswer(name: string, { fleet }: Status): object {
  if (fleet === undefined || fleet.isLeading) return { error: `cannot find an upstream named "${name}"` };
  const { leader } = fleet;
  if (leader === undefined) return { error: `cannot show "${name}": nobody leads now` };
  return { error: `cannot show "${name}" here: "${leader.name}" leads`, leader };
}

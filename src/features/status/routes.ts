/** The JSON API: the same facts as on the pages. */

import { jsonPieces, type Pieces } from "../../http/routes/pieces.ts";
import { get, type Route, type RoutesOf } from "../../http/routes/routes.ts";
import { incidentsOfAll } from "./incidents.ts";
import type { Status, UpstreamFacts } from "./status.ts";
import { budgetsOf, diagnosisOf } from "./verdict.ts";

export type ApiDeps = {
  status(): Status;
  /** The running config as it is written, as JSON without a secret. */
  shown(): string;
};

export function apiRoutes(deps: ApiDeps): RoutesOf {
  return (answers) => {
    const json = (path: string, found: (name: string) => Json): Route =>
      get(path, (request, name) =>
        answers.serve(request, request.path, () => {
          const { status = 200, pieces } = found(name);
          return { status, type: "application/json", pieces };
        }),
      );
    return [
      json("/api/v1/upstreams", () => ({ pieces: listAnswer(deps.status()) })),
      json("/api/v1/upstreams/:name", (name) => {
        const status = deps.status();
        const found = upstreamAnswer(status, name);
        return found === undefined
          ? missing(missingUpstreamAnswer(name, status))
          : { pieces: jsonPieces(found) };
      }),
      json("/api/v1/incidents", () => ({ pieces: incidentsAnswer(deps.status()) })),
      json("/api/v1/config", () => ({ pieces: [deps.shown()] })),
    ];
  };
}

type Json = { readonly status?: 404; readonly pieces: Iterable<string | undefined> };

function missing(why: object): Json {
  return { status: 404, pieces: jsonPieces(why) };
}

/** An upstream in the list has its last poll in place of its history. */
function* listAnswer(status: Status): Pieces {
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
  for (const name of status.names) {
    const facts = status.facts(name);
    if (facts !== undefined) yield { ...shownFacts(facts, status), lastPoll: facts.lastPoll };
  }
}

function* incidentsAnswer(status: Status): Pieces {
  yield* jsonPieces({ nowMs: status.nowMs, incidents: yield* incidentsOfAll(status) });
}

/** Undefined if no upstream has this name. */
function upstreamAnswer(status: Status, name: string): object | undefined {
  const facts = status.facts(name);
  if (facts === undefined) return undefined;
  const { lastPolls, lastFailures } = facts;
  return {
    nowMs: status.nowMs,
    upstream: { ...shownFacts(facts, status), lastPolls, lastFailures, ...status.details(name) },
    budgets: budgetsOf(facts, status),
    incidents: status.incidentsOf(name),
  };
}

/** Without what is long, or is told by something else. */
function shownFacts(facts: UpstreamFacts, status: Status): object {
  const without = {
    lastPoll: undefined,
    lastPolls: undefined,
    lastFailures: undefined,
  };
  return { ...facts, ...without, diagnosis: diagnosisOf(facts, status) };
}

/** Whoever stands by shows none: its leader does. */
function missingUpstreamAnswer(name: string, { fleet }: Status): object {
  if (fleet === undefined || fleet.isLeading) return { error: `cannot find an upstream named "${name}"` };
  const { leader } = fleet;
  if (leader === undefined) return { error: `cannot show "${name}": nobody leads now` };
  return { error: `cannot show "${name}" here: "${leader.name}" leads`, leader };
}

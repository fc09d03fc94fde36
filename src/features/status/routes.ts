import type { Pieces } from "../../http/routes/answers.ts";
import { get, type Route, type RoutesOf } from "../../http/routes/routes.ts";
import { incidentsAnswer, listAnswer, missingUpstreamAnswer, upstreamAnswer } from "./json-answers.ts";
import { jsonPieces } from "./pieces.ts";
import type { Status } from "./status.ts";

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

type Json = { readonly status?: 404; readonly pieces: Pieces };

function missing(why: object): Json {
  return { status: 404, pieces: jsonPieces(why) };
}

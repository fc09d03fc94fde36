import type { Pieces } from "../../http/routes/pieces.ts";
import type { Status } from "../status/status.ts";
import { CALENDAR, type Columns, type Range } from "../history/timeline.ts";
import type { Answers } from "../../http/routes/answers.ts";
import { get, type Route, type RoutesOf } from "../../http/routes/routes.ts";
import type { Block } from "../../http/markup/block.ts";
import { readRunbook, renderRunbookPage } from "./runbook-page.ts";
import { REFRESH_SECONDS, type View, viewOf } from "./shell.ts";
import { renderStatusPage } from "./status-page.ts";
import { renderMissingUpstreamPage, renderUpstreamPage } from "./upstream-page.ts";

export type PageDeps = {
  status(): Status;
  /** As the state file has them; undefined where it has none of this range. */
  columns(upstream: string, range: Range): Promise<Columns | undefined>;
  readonly blocks: readonly Block[];
};

export function pageRoutes(deps: PageDeps): RoutesOf {
  return (answers) => {
    const runbook: Route["answer"] = (request, name) =>
      answers.serve(request, request.path, async () => {
        const text = await readRunbook(name);
        const pieces = renderRunbookPage(text, deps.status());
        return { status: text === undefined ? 404 : 200, type: HTML, pieces };
      });
    return [
      page("/", answers, (view) => ({
        status: 200,
        pieces: renderStatusPage(deps.status(), view, deps.blocks),
      })),
      page("/upstreams/:name", answers, async (view, name) => {
        const inFile = await deps.columns(name, view.range);
        const daysInFile = await deps.columns(name, CALENDAR);
        const status = deps.status();
        const facts = status.facts(name);
        if (facts !== undefined) {
          const seen = inFile ?? status.columns(name, view.range);
          const days = daysInFile ?? status.columns(name, CALENDAR);
          return {
            status: 200,
            pieces: renderUpstreamPage(facts, { seen, days }, status, view, deps.blocks),
          };
        }
        return { status: 404, pieces: renderMissingUpstreamPage(name, status, view) };
      }),
      get("/runbooks/", runbook),
      get("/runbooks/:name", runbook),
    ];
  };
}

const HTML = "text/html; charset=UTF-8";

type Page = { readonly status: 200 | 404; readonly pieces: Pieces };

/**
 * The browser reloads the page by itself and keeps the scroll position. `?refresh=off` stops that: a refresh in the
 * markup could not be stopped.
 */
function page(
  path: string,
  answers: Answers,
  render: (view: View, name: string) => Page | Promise<Page>,
): Route {
  return get(path, async (request, name) => {
    const view = viewOf(request.url.searchParams);
    const { refreshes, range } = view;
    const answer = await answers.serve(request, `${request.path} ${range.name} ${refreshes}`, async () => {
      const { status, pieces } = await render(view, name);
      return { status, type: HTML, pieces };
    });
    if (!refreshes || answer.status !== 200) return answer;
    return { ...answer, headers: { ...answer.headers, Refresh: String(REFRESH_SECONDS) } };
  });
}

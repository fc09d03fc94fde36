import { badgeRoutes } from "../../features/badges/routes.ts";
import { pageRoutes } from "../../features/page/routes.ts";
import { reportRoutes } from "../../features/report/route.ts";
import { type ApiDeps, apiRoutes } from "../../features/status/routes.ts";
import type { Columns, Range } from "../../features/history/timeline.ts";
import type { RoutesOf } from "../../http/routes/routes.ts";
import { BLOCKS } from "./shown.ts";
import type { Config } from "../../kernel/config/config.ts";

export type RouteDeps = ApiDeps & {
  config(): Config;
  /** Of the single polls that the state file has; undefined where it has none, or of a range that needs more. */
  columns(upstream: string, range: Range): Promise<Columns | undefined>;
};

/** Each feature serves these at our port. */
export function routesOf(deps: RouteDeps): readonly RoutesOf[] {
  return [apiRoutes(deps), pageRoutes({ ...deps, blocks: BLOCKS }), badgeRoutes(deps), reportRoutes(deps)];
}

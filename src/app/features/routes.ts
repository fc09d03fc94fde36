import { type BadgeDeps, badgeRoutes } from "../../features/badges/routes.ts";
import { type PageDeps, pageRoutes } from "../../features/page/routes.ts";
import { type ReportDeps, reportRoutes } from "../../features/report/route.ts";
import { type ApiDeps, apiRoutes } from "../../features/status/routes.ts";
import type { RoutesOf } from "../../http/routes/routes.ts";

export type RouteDeps = ApiDeps & PageDeps & BadgeDeps & ReportDeps;

/** What each feature serves at our port. */
export function routesOf(deps: RouteDeps): readonly RoutesOf[] {
  return [apiRoutes(deps), pageRoutes(deps), badgeRoutes(deps), reportRoutes(deps)];
}

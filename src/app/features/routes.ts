import { badgeRoutes } from "../../features/badges/routes.ts";
import { type PageDeps, pageRoutes } from "../../features/page/routes.ts";
import { reportRoutes } from "../../features/report/route.ts";
import { type ApiDeps, apiRoutes } from "../../features/status/routes.ts";
import type { RoutesOf } from "../../http/routes/routes.ts";
import type { Config } from "../../kernel/config/config.ts";

export type RouteDeps = ApiDeps & PageDeps & { config(): Config };

/** What each feature serves at our port. */
export function routesOf(deps: RouteDeps): readonly RoutesOf[] {
  return [apiRoutes(deps), pageRoutes(deps), badgeRoutes(deps), reportRoutes(deps)];
}

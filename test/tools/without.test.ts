import { expect, test } from "vitest";
import { withoutFeature } from "../../tools/without.ts";

const LIST = `import type { RoutesOf } from "../../http/routes/routes.ts";
import { badgeRoutes } from "../../features/badges/routes.ts";
import {
  type PageDeps,
  pageRoutes,
} from "../../features/page/routes.ts";

export const ALL: readonly RoutesOf[] = [pageRoutes(a, b), badgeRoutes];
const SECTIONS = [
  ...badgeRoutes,
  ...pageRoutes,
];
`;

test("a list loses what a feature brought, wherever it stands", () => {
  expect(withoutFeature(LIST, "badges")).toBe(`import type { RoutesOf } from "../../http/routes/routes.ts";
import {
  type PageDeps,
  pageRoutes,
} from "../../features/page/routes.ts";

export const ALL: readonly RoutesOf[] = [pageRoutes(a, b)];
const SECTIONS = [
  ...pageRoutes,
];
`);
  expect(withoutFeature(LIST, "page")).toContain(
    "= [badgeRoutes];\nconst SECTIONS = [\n  ...badgeRoutes,\n];",
  );
  expect(withoutFeature(LIST, "report")).toBe(LIST);
});

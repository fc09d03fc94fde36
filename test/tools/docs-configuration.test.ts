import { expect, test } from "vitest";
import { configurationPage } from "../../tools/docs-configuration.ts";

test("the page of the config has every key once, with its default, and begins with what surprises", () => {
  const page = configurationPage();
  for (const key of [
    "web.listen",
    "state.path",
    "budgets.NAME.share",
    "upstreams[].path",
    "upstreams[].time_zone",
  ]) {
    expect(page.split(`**\`${key}\`**`)).toHaveLength(2);
  }
  expect(page).toMatch(/\*\*`upstreams\[\]\.path`\*\*: .*Default: `\/v1\/resources`\./);
  expect(page).toMatch(/\*\*`budgets\.NAME\.share`\*\*: .*Default: `20%`\./);
  expect(page).toMatch(/\*\*`upstreams\[\]\.name`\*\*: .* Required\.\n/);
  expect(page).toMatch(/\*\*`upstreams\[\]\.budget`\*\*: .* Required, here or in `defaults`\. /);
  expect(page).toMatch(
    /\*\*`upstreams\[\]\.every`\*\*: .* Required, here or in `defaults`: `every` or `cron`\. /,
  );
  expect(page).not.toMatch(/\*\*`upstreams\[\]\.timeout`\*\*: .*Required/);
  const firstScreen = page.split("\n").slice(0, 15).join("\n");
  for (const surprise of ["/v1/resources", "state.path", "UTC"]) expect(firstScreen).toContain(surprise);
});

import { advertisedUrl } from "../../features/fleet/config.ts";
import type { Config } from "../../kernel/config/config.ts";

/** Where the page for people is, if `web.page_url` does not say it. */
const PAGE_URLS: readonly ((config: Config) => string | undefined)[] = [advertisedUrl];

/** Without a slash at its end. */
export function pageUrlOf(config: Config): string | undefined {
  const urls = [config.web.pageUrl, ...PAGE_URLS.map((of) => of(config))];
  return urls.find((url) => url !== undefined)?.replace(/\/+$/, "");
}

import type { Context } from "hono";
import type { DoorEnv } from "../guards/guard.ts";
import { compressible } from "./compressible.ts";
import { REFRESH_SECONDS, type View } from "../page/shell.ts";
import type { Markup } from "../page/markup.ts";

/**
 * A page that is loaded again by the browser's own means, which keep the place that was scrolled to; with
 * `?refresh=off` it stays as it is. In the markup the same would take the choice away.
 */
export async function answerPage(
  c: Context<DoorEnv>,
  render: (view: View) => Markup,
  status: 200 | 404 = 200,
): Promise<Response> {
  const refreshes = c.req.query("refresh") !== "off";
  const page = String(await render({ refreshes }));
  if (refreshes && status === 200) c.header("Refresh", String(REFRESH_SECONDS));
  c.header("Content-Type", "text/html; charset=UTF-8");
  c.header("Vary", "Accept-Encoding");
  c.status(status);
  return compressible(c, page);
}

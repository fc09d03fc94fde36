import { html } from "hono/html";
import type { StatusSnapshot } from "../core/status.ts";
import { moment, type Markup } from "./status-page-markup.ts";

/** What is the matter with Pacewatch itself, if anything is. */
export function notices({ stateStoreUp, lastReload, nowMs }: StatusSnapshot): readonly Markup[] {
  return [
    ...(lastReload.successful
      ? []
      : [
          html`<p class="notice">
            <strong>The changed config cannot be used.</strong> The one of
            ${moment(lastReload.lastSuccessAtMs, nowMs)} runs on; the log tells the faults.
          </p>`,
        ]),
    ...(stateStoreUp === false
      ? [
          html`<p class="notice">
            <strong>The state file cannot be written.</strong> The polls go on; what is seen now is lost at a
            restart.
          </p>`,
        ]
      : []),
  ];
}

import { type Config, isOneOf, type Receiver, type Upstream } from "../../core/config/config.ts";
import { cronOf } from "../../core/schedule/schedule.ts";
import { formatDuration } from "../../core/time/duration.ts";
import { isCleartext } from "../keys/upstream-url.ts";
import { variablesIn } from "../read/interpolate.ts";
import type { Path } from "../read/tree.ts";
import { type Complaint, complain } from "./faults.ts";

/** Allowed, but probably not intended. */
export function warningsOf(upstream: Upstream, path: Path): readonly Complaint[] {
  const { name, auth, url, pathTemplate, tls, schedule, degradedAboveMs, timeoutMs } = upstream;
  const warnings: Complaint[] = [];
  if (pathTemplate !== undefined) {
    const names = variablesIn(pathTemplate.path)
      .map((variable) => `\${${variable}}`)
      .join(" and ");
    const message = `upstream "${name}" has ${names} in its path: treated as a secret here, but proxies and servers log URLs, so a key belongs into auth`;
    warnings.push(complain([...path, "path"], message));
  }
  if ((auth.kind !== "none" || pathTemplate !== undefined) && isCleartext(url)) {
    warnings.push(
      complain([...path, "base_url"], `upstream "${name}" sends its key unencrypted: use https://`),
    );
  }
  if (auth.kind === "oauth2" && isCleartext(auth.token.url)) {
    const at = [...path, "auth", "oauth2", "token_url"];
    warnings.push(complain(at, `upstream "${name}" sends its client secret unencrypted: use https://`));
  }
  if (tls.insecureSkipVerify) {
    const at = [...path, "tls", "insecure_skip_verify"];
    warnings.push(
      complain(at, `upstream "${name}" trusts any certificate, so anybody in between can read its key`),
    );
  }
  if (cronOf(schedule).restrictsBothDayFields) {
    const message = `upstream "${name}" is polled only on days that match both day-of-month and day-of-week`;
    warnings.push(complain([...path, "cron"], message));
  }
  const gapMs = cronOf(schedule).shortestGapMs;
  if (timeoutMs > gapMs) {
    const message = `upstream "${name}" has a timeout of ${formatDuration(timeoutMs)}, and only ${formatDuration(gapMs)} between two slots: while a poll takes longer than that, slots are skipped`;
    warnings.push(complain([...path, "timeout"], message));
  }
  if (degradedAboveMs !== undefined && degradedAboveMs >= timeoutMs) {
    const message = `upstream "${name}" can never be degraded: a poll ends after ${formatDuration(timeoutMs)}, its timeout`;
    warnings.push(complain([...path, "degraded_above"], message));
  }
  return warnings;
}

/** Of who is told: those who never can be, and what it costs that nobody remembers who was. */
export function warningsOfReceivers(
  { notify = [], state }: Pick<Config, "notify" | "state">,
  upstreams: readonly Upstream[],
): readonly Complaint[] {
  const warnings = notify.flatMap((receiver, index) => {
    if (canMatch(receiver, upstreams)) return [];
    const message = `receiver "${receiver.name}" can never be told of anything: no upstream matches its only, and its on`;
    return [complain(["notify", index], message)];
  });
  if (notify.length === 0 || state !== undefined) return warnings;
  const cost =
    "without state.path nobody remembers over a restart who was told what: what is down then is told again, and what came up meanwhile never";
  return [...warnings, complain(["notify"], cost)];
}

const OWN_EVENTS: ReadonlySet<string> = new Set(["offline", "config_refused", "state_lost"]);

function canMatch({ only, on }: Receiver, upstreams: readonly Upstream[]): boolean {
  if (only === undefined) return true;
  const isOfUpstreams = on.some((event) => event !== "up" && !OWN_EVENTS.has(event));
  return isOfUpstreams && upstreams.some((upstream) => isOneOf(only, upstream));
}

import type { Upstream } from "../../kernel/config/config.ts";
import { Cron } from "../../kernel/schedule/cron.ts";
import { slotsOf } from "../../kernel/schedule/schedule.ts";
import { formatDuration } from "../../kernel/time/duration.ts";
import { isCleartext } from "../keys/upstream-url.ts";
import { variablesIn } from "../read/interpolate.ts";
import type { Path } from "../read/tree.ts";
import { type Complaint, complain } from "../read/fault.ts";

/** Allowed, but probably not intended. */
export function warningsOf(upstream: Upstream, path: Path): readonly Complaint[] {
  const { name, auth, url, pathTemplate, tls, schedule, degradedAboveMs, timeoutMs, objective } = upstream;
  const warnings: Complaint[] = [];
  const warn = (key: Path, says: string): void =>
    void warnings.push(complain([...path, ...key], `upstream "${name}" ${says}`));
  const warnOfKey = (key: Path, says: string): void =>
    void warnings.push({ ...complain([...path, ...key], `upstream "${name}" ${says}`), exposesKey: true });
  if (pathTemplate !== undefined) {
    const variables = variablesIn(pathTemplate.path).map((variable) => `\${${variable}}`);
    const why = "treated as a secret here, but proxies and servers log URLs, so a key belongs into auth";
    warn(["path"], `has ${variables.join(" and ")} in its path: ${why}`);
  }
  if ((auth.kind !== "none" || pathTemplate !== undefined) && isCleartext(url))
    warnOfKey(["base_url"], "sends its key unencrypted: use https://");
  if (tls.insecureSkipVerify)
    warnOfKey(
      ["tls", "insecure_skip_verify"],
      "trusts any certificate, so anybody in between can read its key",
    );
  const slots = slotsOf(schedule);
  const { shortestGapMs } = slots;
  if (slots instanceof Cron && slots.restrictsBothDayFields)
    warn(["cron"], "is polled only on days that match both day-of-month and day-of-week");
  const timeout = formatDuration(timeoutMs);
  if (timeoutMs > shortestGapMs) {
    const gap = `only ${formatDuration(shortestGapMs)} between two slots`;
    warn(
      ["timeout"],
      `has a timeout of ${timeout}, and ${gap}: while a poll takes longer than that, slots are skipped`,
    );
  }
  if (degradedAboveMs >= timeoutMs && degradedAboveMs !== objective.latencyMs)
    warn(["degraded_above"], `can never be degraded: a poll ends after ${timeout}, its timeout`);
  return warnings;
}

import type { Upstream } from "../../core/config/config.ts";
import { formatDuration } from "../../core/time/duration.ts";
import { restrictsBothDayFields } from "../../core/schedule/schedule.ts";
import { type Complaint, complain } from "./complaint.ts";
import type { Path } from "../read/tree.ts";
import { isCleartext } from "../schema/upstream-url.ts";

/** Allowed, but probably not intended. */
export function warningsOf(upstream: Upstream, path: Path): readonly Complaint[] {
  const { name, auth, url, tls, schedule, degradedAboveMs, timeoutMs } = upstream;
  const warnings: Complaint[] = [];
  if (auth.kind !== "none" && isCleartext(url)) {
    warnings.push(
      complain([...path, "base_url"], `upstream "${name}" sends its key unencrypted: use https://`),
    );
  }
  if (tls.insecureSkipVerify) {
    const at = [...path, "tls", "insecure_skip_verify"];
    warnings.push(
      complain(at, `upstream "${name}" trusts any certificate, so anybody in between can read its key`),
    );
  }
  if (restrictsBothDayFields(schedule)) {
    const message = `upstream "${name}" is polled only on days that match both day-of-month and day-of-week`;
    warnings.push(complain([...path, "cron"], message));
  }
  if (degradedAboveMs !== undefined && degradedAboveMs >= timeoutMs) {
    const message = `upstream "${name}" can never be degraded: a poll ends after ${formatDuration(timeoutMs)}, its timeout`;
    warnings.push(complain([...path, "degraded_above"], message));
  }
  return warnings;
}

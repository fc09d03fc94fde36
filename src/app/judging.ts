import type { Upstream } from "../core/config/config.ts";
import { ANNOUNCEMENT } from "../core/poll/announcement.ts";
import { type Checks, NO_CHECKS } from "../core/poll/checks.ts";
import { COST } from "../core/poll/cost.ts";
import { QUOTAS_LEFT } from "../core/poll/quotas.ts";
import { STREAM } from "../core/poll/streamed.ts";
import { VALUES } from "../core/poll/values.ts";
import type { Judging } from "../engine/poll/poll-once.ts";

/** What is read in the answers of an upstream: what its config does not ask for is not looked for. */
export function judgingOf({ stream, values, price }: Upstream, checks: Checks = NO_CHECKS): Judging {
  const readers = [
    ANNOUNCEMENT,
    QUOTAS_LEFT,
    ...(stream === undefined ? [] : [STREAM]),
    ...(values === undefined ? [] : [VALUES]),
    ...(price === undefined ? [] : [COST]),
  ];
  return { readers, checks };
}

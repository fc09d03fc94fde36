import type { Config } from "../../../src/core/config/config.ts";
import { scheduleEvery } from "../../../src/core/schedule/schedule.ts";
import { sampleConfig } from "../../support/samples.ts";
import type { Setup } from "../world/scenario.ts";
import { configOf } from "../world/setup.ts";
import type { FleetTerms } from "./scenario.ts";

/** What the replica of this name reads: the same as all, but for its name, and where all poll all, for the phases. */
export function fleetConfigOf({ accounts, upstreams }: Setup, terms: FleetTerms, name: string): Config {
  const { mode, replicas, reserve, ttlMs } = terms;
  const redis = {
    nodes: { kind: "single", host: "127.0.0.1", port: 6_379, database: 0 },
    username: undefined,
    password: undefined,
    tls: undefined,
  } as const;
  const fleet = {
    redis,
    mode,
    replicas,
    reserve,
    ttlMs,
    name,
    advertise: undefined,
    prefix: "pacewatch",
  };
  const own =
    mode === "shard"
      ? upstreams
      : upstreams.map((upstream) => ({
          ...upstream,
          schedule: phased(upstream.schedule, `${upstream.name}@${name}`),
        }));
  return sampleConfig({ ...configOf({ accounts, upstreams: own }), fleet });
}

function phased(schedule: Config["upstreams"][number]["schedule"], name: string): typeof schedule {
  const reading = scheduleEvery(schedule.longestGapMs, name);
  return reading.kind === "schedule" ? reading.schedule : schedule;
}

/** A config may have these: the keys of the kernel, and those of each feature. */

import { load as loadBy, type LoadOptions, type Loading } from "../../config/load.ts";
import { type ConfigSchema, configSchema } from "../../config/schema/schema.ts";
import { PROOF_PARTS } from "./proof.ts";
import { AUTH } from "../../features/auth/config.ts";
import { BADGES } from "../../features/badges/config.ts";
import { EXPECT } from "../../features/expect/config.ts";
import { FLEET } from "../../features/fleet/config.ts";
import { LOG } from "../../features/log/config.ts";
import { NOTIFY } from "../../features/notify/config.ts";
import { PRICE, QUOTA } from "../../features/quota/config.ts";
import { REFUSALS } from "../../features/refusals/config.ts";
import { REPORT } from "../../features/report/config.ts";
import { STATE } from "../../features/state/config.ts";
import { STATUS } from "../../features/status/config.ts";
import { STREAMS } from "../../features/streams/config.ts";
import { VALUES } from "../../features/values/config.ts";

/** In the order of the docs. */
export const CONFIG_SCHEMA: ConfigSchema = configSchema(
  [
    BADGES,
    LOG,
    STATE,
    FLEET,
    NOTIFY,
    QUOTA,
    STREAMS,
    AUTH,
    REFUSALS,
    EXPECT,
    VALUES,
    PRICE,
    REPORT,
    STATUS,
  ].flat(),
);

export function load(configPath: string, options: LoadOptions): Promise<Loading> {
  return loadBy(configPath, options, { schema: CONFIG_SCHEMA, proof: PROOF_PARTS });
}

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { requireBinary } from "../../support/processes/binaries.ts";
import { run } from "../promtool.ts";

const promtool = requireBinary("promtool");
const PROMETHEUS = fileURLToPath(new URL("../../../config/prometheus/", import.meta.url));

test.skipIf(promtool === undefined).each(["rules.test.yml", "rules-slow.test.yml"])(
  "promtool sees every alert of %s fire, and not fire",
  (file) => {
    const ran = run(promtool ?? "", ["test", "rules", `${PROMETHEUS}${file}`]);
    expect(ran.output).not.toMatch(/FAILED/);
    expect(ran.code).toBe(0);
  },
);

import { closeSync, openSync, writeSync } from "node:fs";
import type { QuotaRow } from "../../../src/features/quota/quota.ts";
import { samplePoll } from "../../support/kernel-samples.ts";
import { sampleQuotaNote, sampleQuotaRow } from "../../support/samples.ts";
import { NOW_MS, type StateBench, TIMEOUT } from "./bench.ts";

export const COUNTED: QuotaRow = sampleQuotaRow({
  hour: Math.floor(NOW_MS / 3_600_000),
  requests: 40,
  unconfirmed: 2,
});

/** A file with some hundred pages or more. */
export async function aLife(bench: StateBench, polls = 500): Promise<void> {
  const store = await bench.open();
  const record = bench.recordOf(store);
  const excerpt = "an excerpt of an answer ".repeat(20);
  for (let turn = 0; turn < polls; turn += 1) {
    const outcome = turn % 2 ? TIMEOUT : ({ kind: "ok", reason: "" } as const);
    record.record({
      kind: "polled",
      poll: samplePoll({ id: `poll-${turn}`, outcome, excerpt, endedAtMs: NOW_MS }),
    });
  }
  void store.write([sampleQuotaNote(COUNTED)]);
  await store.close();
}

export function overwrite(path: string, offset: number, bytes: Uint8Array): void {
  const file = openSync(path, "r+");
  writeSync(file, bytes, 0, bytes.length, offset);
  closeSync(file);
}

import { Agent, get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { LoadAnswer, LoadQuestion, Probed } from "./load.ts";

/** Asks blackbox_exporter for probes, as Prometheus would, in a process of its own. */

const agent = new Agent({ keepAlive: true, maxFreeSockets: 1_024 });

process.on("message", (question: LoadQuestion) => {
  void answerOf(question).then((answer) => process.send?.(answer));
});
process.once("disconnect", () => process.exit());

async function answerOf(question: LoadQuestion): Promise<LoadAnswer> {
  const probed: Probed[] = [];
  let failed = 0;
  let number = question.firstNumber;
  const probe = async (): Promise<void> => {
    const own = number++;
    const durationMs = await durationOf(question.origin + question.path + own).catch(() => undefined);
    if (durationMs === undefined) failed += 1;
    else probed.push({ number: own, durationMs });
  };
  await drive(question.manner, probe);
  return { probed, failed };
}

async function drive(manner: LoadQuestion["manner"], probe: () => Promise<void>): Promise<void> {
  switch (manner.kind) {
    case "rate":
      return evenly(manner.perSecond, manner.seconds, probe);
    case "saturate": {
      const endMs = performance.now() + manner.seconds * 1_000;
      const worker = async (): Promise<void> => {
        while (performance.now() < endMs) await probe();
      };
      await Promise.all(Array.from({ length: manner.atOnce }, worker));
      return;
    }
    case "burst":
      await Promise.all(Array.from({ length: manner.count }, probe));
      return;
    default:
      manner satisfies never;
  }
}

/** Where the timer is late, what is due is made up for, so that the rate is the one that was asked for. */
async function evenly(perSecond: number, seconds: number, probe: () => Promise<void>): Promise<void> {
  const startMs = performance.now();
  const probes: Promise<void>[] = [];
  while (probes.length < perSecond * seconds) {
    const due = Math.min(((performance.now() - startMs) / 1_000) * perSecond, perSecond * seconds);
    while (probes.length < due) probes.push(probe());
    await sleep(1);
  }
  await Promise.all(probes);
}

/** Of a probe that succeeded, by the exporter's own word. */
function durationOf(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on("data", (piece: Buffer) => pieces.push(piece));
      answer.on("error", reject);
      answer.on("end", () => resolve(durationIn(Buffer.concat(pieces).toString("latin1"))));
    }).on("error", reject);
  });
}

function durationIn(text: string): number | undefined {
  const seconds = /^probe_duration_seconds (\S+)$/m.exec(text)?.[1];
  return seconds === undefined || !text.includes("\nprobe_success 1") ? undefined : Number(seconds) * 1_000;
}

import { KeptValues } from "../../support/kept-values.ts";
import { samplePoll } from "../../support/kernel-samples.ts";
import { sampleValue } from "../../support/samples.ts";

const START_MS = 1_790_000_000_000;
const HOUR_MS = 3_600_000;

type Mixture = {
  readonly at: (afterMs: number, turn: number) => number;
  /** What is truly left. */
  readonly left: (afterMs: number) => number;
  readonly perSecond: number;
  readonly everyMs: number;
};

/** Two to five servers answer, of which all but one lag by up to 40 minutes: in turn, or as chance has it. */
function mixture(random: () => number): Mixture {
  const perSecond = 10 ** (random() * 4 - 3);
  const servers = 2 + Math.floor(random() * 4);
  const lags = Array.from({ length: servers }, (_, server) => (server === 0 ? 0 : random() * 2_400));
  const isInTurn = random() < 0.3;
  const everyMs = [5_000, 10_000, 15_000][Math.floor(random() * 3)] ?? 15_000;
  const total = perSecond * 3_600 * (3 + random() * 100);
  const left = (afterMs: number): number => total - (perSecond * afterMs) / 1_000;
  const at = (afterMs: number, turn: number): number => {
    const server = isInTurn ? turn % servers : Math.floor(random() * servers);
    return left(afterMs) + perSecond * (lags[server] ?? 0);
  };
  return { at, left, perSecond, everyMs };
}

/** Of each mixture, how far the forecast of the last hour was off at worst, as a part of what is true. */
export function worstForecasts(
  seed: number,
  mixtures: number,
): { readonly worsts: readonly number[]; readonly judged: number } {
  let state = seed;
  const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  const worsts: number[] = [];
  let judged = 0;
  for (let made = 0; made < mixtures; made += 1) {
    const { at, left, perSecond, everyMs } = mixture(random);
    const kept = new KeptValues();
    let polls = 0;
    let worst = 0;
    for (let afterMs = 0; afterMs <= 2 * HOUR_MS; afterMs += everyMs) {
      const values = [{ name: "credits", value: at(afterMs, (polls += 1)), isCredit: true }];
      kept.polled(
        samplePoll({ endedAtMs: START_MS + afterMs, said: { values: { values, unreadable: [] } } }),
      );
      if (afterMs < HOUR_MS || polls % 4 !== 0) continue;
      judged += 1;
      const [read] = kept.read([sampleValue()], everyMs, START_MS + afterMs);
      const burn = read?.burns.find(({ window }) => window === "1h");
      const leftMs = (left(afterMs) / perSecond) * 1_000;
      const paceOff = (burn?.perSecond ?? 0) / perSecond - 1;
      const endOff = ((burn?.emptyAtMs ?? Infinity) - START_MS - afterMs) / leftMs - 1;
      worst = Math.max(worst, Math.abs(paceOff), Math.abs(endOff));
    }
    worsts.push(worst);
  }
  return { worsts, judged };
}

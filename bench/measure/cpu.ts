import { ratioOf, type Figure } from "../report/figure.ts";
import type { Fleet } from "../programs/pacewatch-config.ts";
import type { Scheme } from "../programs/nginx-config.ts";
import type { Stage } from "../stage.ts";
import { blackboxSpends, pacewatchSpends, usPerPoll, type Spent } from "./window.ts";

const PER_SECOND = 1_000;
/** More than one core can carry, of either. */
const TOO_MANY = 3_000;
/** The first look at so many comes at once: thousands of handshakes, which take their time. */
const FIRST_LOOK_S = 8;
const AT_ONCE = 128;
/** A second. */
const FEW = 50;

type Way = "http-fresh" | "https-fresh" | "https-reused";
type Round = Readonly<Record<Way, number>> & { readonly http: number; readonly https: number };

const WAYS: Readonly<Record<Way, string>> = {
  "http-fresh": "HTTP, fresh",
  "https-fresh": "HTTPS, fresh",
  "https-reused": "HTTPS, reused",
};

/** CPU per poll to the exporter's per probe, all of them in alternation. */
export async function measureCpu(stage: Stage): Promise<readonly Figure[]> {
  const { cpuRounds, saturationRounds } = stage.depth;
  return [
    ...(await measure(stage, "cpu", `at ${PER_SECOND} a second`, cpuRounds, PER_SECOND)),
    ...(await measure(stage, "cpu-saturated", "at saturation", saturationRounds, TOO_MANY)),
  ];
}

async function measure(
  stage: Stage,
  prefix: string,
  when: string,
  rounds: number,
  perSecond: number,
): Promise<readonly Figure[]> {
  if (rounds === 0) return [];
  const measured: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    measured.push(await oneRound(stage, perSecond, `${when}, round ${round} of ${rounds}`));
  }
  return Object.entries(WAYS).map(([way, says]) =>
    ratioOf(`${prefix}-${way}`, `CPU per poll ${when}, ${says}`, "µs", {
      ours: measured.map((round) => round[way as Way]),
      theirs: measured.map((round) => (way === "http-fresh" ? round.http : round.https)),
    }),
  );
}

async function oneRound(stage: Stage, perSecond: number, when: string): Promise<Round> {
  const { nginx, caFile } = stage;
  const ours = async (scheme: Scheme, connection: Fleet["connection"]): Promise<number> => {
    const schedule = { every: "1s" };
    const baseUrl = (number: number): string => nginx.url(scheme, number);
    const fleet = { upstreams: perSecond, schedule, baseUrl, connection, caFile };
    const what = `Pacewatch, ${scheme}, ${connection}`;
    stage.progress(`CPU ${when}: ${what}`);
    return costOf(
      await pacewatchSpends(fleet, stage, perSecond === PER_SECOND ? "scraped" : { afterS: FIRST_LOOK_S }),
      what,
      perSecond,
      stage.note,
    );
  };
  const theirs = async (scheme: Scheme): Promise<number> => {
    const what = `blackbox_exporter, ${scheme}`;
    stage.progress(`CPU ${when}: ${what}`);
    const manner = perSecond === TOO_MANY ? { atOnce: AT_ONCE } : { perSecond };
    return costOf(await blackboxSpends(stage, nginx.url(scheme), manner), what, perSecond, stage.note);
  };
  return {
    "http-fresh": await ours("http", "fresh"),
    http: await theirs("http"),
    "https-fresh": await ours("https", "fresh"),
    https: await theirs("https"),
    "https-reused": await ours("https", "reuse"),
  };
}

/** A figure of another rate than the one that it names, or of polls that failed, is kept, and said to be so. */
function costOf(spent: Spent, what: string, perSecond: number, note: Stage["note"]): number {
  const { polls, notOk, elapsedMs } = spent;
  const rate = (polls / elapsedMs) * 1_000;
  if (perSecond === PER_SECOND && rate < perSecond * 0.95) {
    note(`${what}: beside its other work this machine carried ${rate.toFixed(0)} of ${perSecond} a second`);
  }
  if (rate < FEW) note(`${what}: ${polls.toFixed(0)} polls in ${elapsedMs.toFixed(0)} ms are too few to say`);
  if (notOk > polls * 0.01) note(`${what}: ${notOk} of ${polls} polls were not ok`);
  return usPerPoll(spent);
}

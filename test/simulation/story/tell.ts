import type { Scenario } from "../world/scenario.ts";
import { simulate, type Outcome } from "../simulate.ts";
import type { Detail } from "./story.ts";
import { describeSetup } from "./wording.ts";

/** So many steps of requests before a violation are told. */
const LAST_STEPS = 40;

export type Telling = { readonly lines: readonly string[]; readonly outcome: Outcome };

export type Line = { readonly detail: Detail; readonly text: string };

/** What is there, then what happened. Of requests only the last are told, unless all are asked for. */
export async function tell(scenario: Scenario, allRequests: boolean): Promise<Telling> {
  const story: Line[] = [];
  const outcome = await simulate(scenario, (detail, text) => void story.push({ detail, text }));
  return {
    lines: [
      ...describeSetup(scenario.setup),
      ...describeRoads(scenario),
      ...abridged(story, outcome, allRequests),
    ],
    outcome,
  };
}

/** Of requests only the last before a violation, unless all are asked for. */
function abridged(story: readonly Line[], { violation }: Outcome, allRequests: boolean): string[] {
  const lastSteps = allRequests ? Infinity : violation === undefined ? 0 : LAST_STEPS;
  let toPassOver = story.filter(({ detail }) => detail === "request").length - lastSteps;
  const lines: string[] = [];
  let passedOver = 0;
  const sayPassedOver = (): void => {
    if (passedOver > 0) lines.push(`      … ${passedOver} steps of requests`);
    passedOver = 0;
  };
  for (const { detail, text } of story) {
    if (detail === "request" && toPassOver > 0) {
      toPassOver -= 1;
      passedOver += 1;
      continue;
    }
    sayPassedOver();
    lines.push(text);
  }
  sayPassedOver();
  return lines;
}

function describeRoads({ roads, lagMs, credentials }: Scenario): string[] {
  const far = [...roads].filter(([, road]) => road !== "quick").map(([name, road]) => `${name} ${road}`);
  const clocks = credentials.filter(({ clockRate }) => clockRate !== 1);
  return [
    ...(far.length > 0 ? [`roads: ${far.join(", ")}`] : []),
    ...(lagMs > 0 ? [`timers fire up to ${lagMs} ms late`] : []),
    ...clocks.map(({ id, clockRate }) => `the clock of ${id} runs at ${clockRate.toFixed(5)} of ours`),
    "",
  ];
}

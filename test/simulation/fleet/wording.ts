import { describeHappening, describeSetup, seconds } from "../story/wording.ts";
import type { FleetHappening, FleetScenario } from "./scenario.ts";

/** Scenarios of a fleet in words. */

export function describeFleet({ fleet, running, setup, ...around }: FleetScenario): string[] {
  const { mode, replicas, reserve, ttlMs } = fleet;
  const far = [...around.roads]
    .filter(([, road]) => road !== "quick")
    .map(([name, road]) => `${name} ${road}`);
  return [
    `fleet: ${mode}, ${running} run of at most ${replicas}, reserve ${reserve * 100}%, ttl ${seconds(ttlMs)}`,
    `to the store and back takes up to ${around.wayMs} ms each, and its clock runs at ${around.storeRate.toFixed(5)} of ours`,
    ...describeSetup(setup),
    ...(far.length > 0 ? [`roads: ${far.join(", ")}`] : []),
    ...(around.lagMs > 0 ? [`timers fire up to ${around.lagMs} ms late`] : []),
    ...around.credentials
      .filter(({ clockRate }) => clockRate !== 1)
      .map(({ id, clockRate }) => `the clock of ${id} runs at ${clockRate.toFixed(5)} of ours`),
    "",
  ];
}

export function describeFleetHappening(happening: FleetHappening): string {
  switch (happening.kind) {
    case "weather":
      return describeHappening(happening);
    case "crash": {
      const { replica, takesTheMachine, downMs, comesBackRenamed } = happening;
      const name = comesBackRenamed ? " with another name" : "";
      const what = takesTheMachine ? "the machine of replica" : "replica";
      return `${what} ${replica} crashes, and is back after ${seconds(downMs)}${name}`;
    }
    case "restart":
      return `replica ${happening.replica} is restarted, and is back ${seconds(happening.downMs)} after it drained`;
    case "stall":
      return `replica ${happening.replica} stands still for ${seconds(happening.forMs)}${happening.whileConnecting === true ? ", once it connects" : ""}`;
    case "cut":
      return `replica ${happening.replica} is cut off from the store for ${seconds(happening.forMs)}`;
    case "away":
      return `the store ${happening.refuses ? "refuses connections" : "does not answer"} for ${seconds(happening.forMs)}`;
    case "slow":
      return `the ways to the store are slow for ${seconds(happening.forMs)}`;
    case "lossy":
      return `one message of five to or from the store is lost for ${seconds(happening.forMs)}`;
    case "empty":
      return `the store is ${happening.restarts ? "restarted empty" : "emptied"}`;
    case "promote":
      return `another store takes over, without the writes of the last ${seconds(happening.lostMs)}`;
    case "step":
      return `the store's clock steps by ${seconds(happening.byMs)}`;
    default:
      return happening satisfies never;
  }
}

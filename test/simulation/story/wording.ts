import type { Budget, Rate, Upstream } from "../../../src/kernel/config/config.ts";
import type { Edit, Happening, Setup, Weather } from "../world/scenario.ts";

/** Scenarios in words. */

export function describeSetup(setup: Setup): string[] {
  return setup.accounts.flatMap(({ credential, budget }) => [
    `key ${credential}: ${describeBudget(budget)}`,
    ...setup.upstreams
      .filter((upstream) => upstream.budgets.includes(budget.name))
      .map((each) => `  ${describeUpstream(each)}`),
  ]);
}

export function describeHappening(happening: Happening): string {
  switch (happening.kind) {
    case "weather":
      return `for ${seconds(happening.forMs)}, ${happening.whom} ${describeWeather(happening.weather)}`;
    case "crash":
      return `the ${happening.takesTheMachine ? "machine" : "process"} crashes, and is back after ${seconds(happening.downMs)}`;
    case "restart":
      return `the process is restarted, and is back ${seconds(happening.downMs)} after it drained`;
    case "stall":
      return `the process stands still for ${seconds(happening.forMs)}`;
    case "suspend":
      return `the machine is suspended for ${seconds(happening.forMs)}`;
    case "step":
      return `the wall clock steps by ${seconds(happening.byMs)}`;
    case "reload":
      return `reload: ${describeEdit(happening.edit)}`;
    default:
      return happening satisfies never;
  }
}

function describeBudget({ name, rates, share, lingerMs, maxPauseMs }: Budget): string {
  const pauses = `max_pause ${seconds(maxPauseMs)}`;
  return `budget ${name}: ${describeRates(rates)}, share ${percent(share)}, linger ${seconds(lingerMs)}, ${pauses}`;
}

function describeUpstream({ name, schedule, timeoutMs, confirm }: Upstream): string {
  return `${name}: ${schedule.source}, timeout ${seconds(timeoutMs)}, confirm ${confirm}`;
}

function describeRates(rates: readonly Rate[]): string {
  return rates.map(({ requests, perMs }) => `${requests} per ${seconds(perMs)}`).join(" and ");
}

function describeWeather(weather: Weather): string {
  switch (weather.kind) {
    case "throttle":
      return `answers ${weather.status} (hint: ${weather.hint}, ${weather.seconds} s)`;
    case "busy":
      return `answers 503 with Retry-After: ${weather.seconds}`;
    case "exhausted":
      return `says that nothing is left for ${weather.seconds} s`;
    case "lowered":
      return `advertises ${percent(weather.part)} of its limit`;
    case "status":
      return `answers ${weather.status}`;
    case "scarce":
      return "says that little is left";
    case "garbled":
      return "sends signals that nobody can read";
    case "hang":
      return "counts, and never answers";
    case "stuck":
      return "gets the requests only when their sockets are closed";
    case "lost":
      return "never gets the requests";
    case "refused":
      return "refuses connections";
    case "reset":
      return "resets instead of answering";
    case "cut":
      return "cuts its answers short";
    case "slow":
      return "answers slowly";
    case "bug":
      return "makes the probe throw";
    default:
      return weather satisfies never;
  }
}

function describeEdit(edit: Edit): string {
  switch (edit.kind) {
    case "none":
      return "nothing changed";
    case "rename":
      return `the budget of ${edit.credential} is called ${edit.to}`;
    case "share":
      return `the share of ${edit.credential} is ${percent(edit.share)}`;
    case "rates":
      return `${edit.credential} allows ${describeRates(edit.rates)}`;
    case "linger":
      return `the linger of ${edit.credential} is ${seconds(edit.lingerMs)}`;
    case "timing":
      return `${edit.upstream}: ${edit.schedule.source}, timeout ${seconds(edit.timeoutMs)}, confirm ${edit.confirm}`;
    case "move":
      return `${edit.upstream} moves to ${edit.credentials.join(" and ")}`;
    case "remove":
      return `${edit.upstream} is removed`;
    case "add":
      return `${describeUpstream(edit.upstream)} is added to ${edit.credential}`;
    case "close_account":
      return `the budget of ${edit.credential} and its upstreams are removed`;
    case "open_account":
      return `the budget of ${edit.account.credential} comes back as ${edit.account.budget.name}`;
    default:
      return edit satisfies never;
  }
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))}%`;
}

function seconds(ms: number): string {
  return `${Number((ms / 1_000).toFixed(3))} s`;
}

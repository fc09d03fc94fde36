import { headerOf } from "../features/state/place.ts";
import { windowsIn } from "../features/hints/record.ts";
import { notesBeside } from "../features/state/reading.ts";
import type { Config } from "../kernel/config/config.ts";
import { counted } from "../kernel/exchange/json-value.ts";
import { UNREADABLE } from "../platform/mark.ts";
import { learnedSentence } from "../features/hints/limit-sentence.ts";
import { type Fault, formatFault } from "../config/read/fault.ts";
import type { Loading, RequestLine } from "../config/load.ts";
import { alsoElsewhere, type Deployment, unsafeSendings } from "../proof/deployments.ts";
import { costsOf } from "../features/quota/proof.ts";
import { PROOF_PARTS } from "../app/features/proof.ts";
import type { BudgetProof } from "../proof/numbers.ts";
import type { CommandIo } from "../config/command-line.ts";
import { type Detection, detectionsOf } from "../proof/detection.ts";
import { proofTable, requestsTable, detectionTable } from "./proof-table.ts";

export type CheckOptions = CommandIo & {
  /** Configs of other deployments: with the first they must have nothing in common. */
  readonly others?: readonly string[];
  readonly json: boolean;
  /** Whether variables must be set, and the keys and files that the config names be there. */
  readonly secrets: boolean;
};

/** `check --json` prints this, and of several configs a list of it. */
export type CheckReport = {
  readonly file: string;
  readonly ok: boolean;
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
  /** Empty where too much is wrong to have any numbers. */
  readonly budgets: readonly BudgetProof[];
  /** A daemon with this state file has learned these windows of limits that do not tell them, by budget. */
  readonly learned: Readonly<Record<string, readonly string[]>>;
  /** How often each request is sent at most that may do or cost something. */
  readonly unsafe: readonly string[];
  /** All polls cost so much at most: a sentence for each currency. */
  readonly costs: readonly string[];
  /** How soon it is known of each upstream that it is down. */
  readonly detections: readonly Detection[];
  /** The request of each upstream. */
  readonly requests: readonly RequestLine[];
};

/** Validates the config, and shows that it fits. Returns the exit code. */
export async function check(options: CheckOptions): Promise<number> {
  const { configPath, others = [], environment, load, json, secrets, out } = options;
  const paths = [configPath, ...others];
  const resolve = secrets ? "everything" : "structure";
  const reports: CheckReport[] = [];
  const deployments: Deployment[] = [];
  for (const [index, file] of paths.entries()) {
    const loading = await load(file, { environment, resolve, withKeys: others.length > 0 });
    const deployment = deploymentOf(file, loading);
    const shared = deployment === undefined ? [] : alsoElsewhere(deployment, deployments);
    if (deployment !== undefined) deployments.push(deployment);
    const faults = shared.map((message) => ({ file, line: 1, column: 1, message }));
    if (!json && index > 0) out("\n");
    reports.push(reportOf(file, loading, faults, options));
  }
  if (json) out(`${JSON.stringify(others.length === 0 ? reports[0] : reports, undefined, 2)}\n`);
  return reports.every(({ ok }) => ok) ? 0 : 1;
}

function deploymentOf(file: string, loading: Loading): Deployment | undefined {
  if (loading.kind === "refused") return undefined;
  const { config, requests, keys = new Map() } = loading;
  return {
    file,
    budgets: config.budgets.map(({ name }) => name),
    requests: new Map(requests.map(({ upstream, url }) => [upstream, url])),
    keys,
  };
}

/** Prints it too, where people read it. */
function reportOf(
  file: string,
  loading: Loading,
  shared: readonly Fault[],
  { json, secrets, out, err }: CheckOptions,
): CheckReport {
  const own = loading.kind === "refused" ? loading.faults : secrets ? stateFaults(loading.config, file) : [];
  const faults = [...own, ...shared];
  const isLoaded = loading.kind === "loaded" && faults.length === 0;
  const warnings = isLoaded ? loading.warnings : [];
  const { budgets } = loading.proof ?? { budgets: [] };
  const learned = isLoaded ? learnedIn(loading.config) : {};
  const unsafe = isLoaded ? unsafeSendings(loading.config) : [];
  const costs = isLoaded ? costsOf(loading.config) : [];
  const requests = isLoaded ? loading.requests : [];
  const detections = isLoaded ? detectionsOf(loading.config, loading.proof, PROOF_PARTS) : [];
  const outWarnings = (some: readonly Fault[]): void => {
    for (const warning of some) out(`\nwarning: ${formatFault(warning)}\n`);
  };
  const proven = { budgets, learned, unsafe, costs, detections, requests };
  const report: CheckReport = { file, ok: isLoaded, faults, warnings, ...proven };
  if (json) return report;
  const but = secrets ? "" : " (keys, files and unset variables were not looked at)";
  if (isLoaded) out(`${file} fits: ${summary(loading.config)}${but}\n`);
  outWarnings(warnings.filter(({ exposesKey }) => exposesKey));
  if (requests.length > 0) out(`\n${requestsTable(requests)}`);
  if (loading.proof !== undefined) out(`\n${proofTable(loading.proof)}`);
  if (detections.length > 0) out(`\n${detectionTable(detections)}`);
  for (const [budget, sentences] of Object.entries(learned)) {
    for (const sentence of sentences) out(`\nbudget ${budget}: its upstream says ${sentence}\n`);
  }
  for (const sentences of [unsafe, costs]) if (sentences.length > 0) out(`\n${sentences.join("\n")}\n`);
  outWarnings(warnings.filter(({ exposesKey }) => !exposesKey));
  if (faults.length > 0) err(loading.digest === UNREADABLE ? listOf(faults) : refusal(file, faults));
  return report;
}

/** Only this command may open a state file beside the daemon that uses it: in the daemon, closing it would drop its locks. */
function stateFaults({ state }: Config, file: string): readonly Fault[] {
  if (state === undefined || headerOf(state.path)?.isDatabase !== false) return [];
  const message = `"state.path" must be a state file of pacewatch's, received one that is not a database: ${state.path}`;
  return [{ file, line: 1, column: 1, message }];
}

/** A window that the upstream tells with its limit is no news. */
function learnedIn({ state }: Config): CheckReport["learned"] {
  if (state === undefined) return {};
  return Object.fromEntries(
    [...windowsIn(notesBeside(state.path))].flatMap(([budget, windows]) => {
      const sentences = windows.filter(({ from }) => from !== "policy").map(learnedSentence);
      return sentences.length === 0 ? [] : [[budget, sentences] as const];
    }),
  );
}

function listOf(faults: readonly Fault[]): string {
  return faults.map((fault) => `${formatFault(fault)}\n`).join("");
}

function refusal(file: string, faults: readonly Fault[]): string {
  const lines = faults.map((fault) => `  ${formatFault(fault)}\n`);
  return `${file} is refused: ${counted(faults.length, "fault")}\n${lines.join("")}`;
}

function summary({ upstreams, budgets, vantage }: Config): string {
  const part = vantage === undefined ? "" : `, from ${vantage.name}, which is one of ${vantage.of} vantages`;
  return `${counted(upstreams.length, "upstream")} on ${counted(budgets.length, "budget")}${part}`;
}

import { findProgram } from "../tools/stack/find-program.ts";
import { certificates } from "../test/support/certificates.ts";
import { Blackbox } from "./programs/blackbox.ts";
import { Child } from "./programs/child.ts";
import { ClockUpstream } from "./programs/clock-upstream.ts";
import type { Depth } from "./depth.ts";
import type { LoadAnswer, LoadQuestion } from "./programs/load.ts";
import { startNginx, type Nginx } from "./programs/nginx.ts";

/** All that is there while the measured come and go. */
export type Stage = AsyncDisposable & {
  readonly depth: Depth;
  readonly nginx: Nginx;
  readonly clockUpstream: ClockUpstream;
  readonly blackbox: Blackbox;
  readonly load: Child<LoadQuestion, LoadAnswer>;
  readonly caFile: string;
  /** Told while it runs. */
  readonly progress: (doing: string) => void;
  /** Kept with the results: what makes a figure less than it says. */
  readonly note: (text: string) => void;
};

export type Programs = { readonly nginx: string; readonly blackbox: string };

/** Or what is missing, in one line. */
export function findPrograms(): Programs | string {
  const nginx = findProgram("nginx");
  const blackbox = findProgram("prometheus-blackbox-exporter") ?? findProgram("blackbox_exporter");
  if (nginx === undefined) return "cannot measure: nginx must be on the PATH (apt-get install nginx-light)";
  if (blackbox === undefined) {
    return "cannot measure: blackbox_exporter must be on the PATH (apt-get install prometheus-blackbox-exporter)";
  }
  return { nginx, blackbox };
}

export async function setStage(
  programs: Programs,
  { depth, progress, note }: Pick<Stage, "depth" | "progress" | "note">,
): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const { server, ca } = certificates();
  const nginx = stack.use(await startNginx(programs.nginx, server));
  const clockUpstream = stack.use(await ClockUpstream.start());
  const blackbox = stack.use(await Blackbox.start(programs.blackbox, ca.certFile));
  const load = stack.use(new Child<LoadQuestion, LoadAnswer>("load-main.ts"));
  const owned = stack.move();
  return {
    depth,
    nginx,
    clockUpstream,
    blackbox,
    load,
    caFile: ca.certFile,
    progress,
    note,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

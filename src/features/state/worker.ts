import { parentPort, workerData } from "node:worker_threads";
import { StateFile } from "./file.ts";
import type { Columns } from "../history/timeline.ts";
import type { OpenReply, StateRequest, WriteReply } from "./messages.ts";

/** The file has a thread of its own: on the main thread, a slow disk would delay polls and inflate measured latencies. */
const { path }: { readonly path: string } = workerData;
const file = new StateFile(path);

parentPort?.on("message", (request: StateRequest) => parentPort?.postMessage(answer(request), []));

function answer(request: StateRequest): OpenReply | WriteReply | Columns | "closed" | undefined {
  switch (request.kind) {
    case "open":
      return file.open(request.nowMs);
    case "write":
      return file.write(request.batch);
    case "columns":
      return file.columns(request.question);
    case "close":
      file.close();
      return "closed";
    default:
      return request satisfies never;
  }
}

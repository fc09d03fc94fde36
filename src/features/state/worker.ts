import { parentPort, workerData } from "node:worker_threads";
import { StateFile } from "./file.ts";
import type { Columns } from "../history/timeline.ts";
import type { OpenReply, StateRequest, WriteReply } from "./messages.ts";

/** The file has a thread of its own: on the main thread, a slow disk would delay polls and inflate measured latencies. */
const { path }: { readonly path: string } = workerData;
const file = new StateFile(path);

parentPort?.on("message", (request: StateRequest) => {
  const reply = answer(request);
  parentPort?.postMessage(reply, handedOver(reply));
});

type Reply = OpenReply | WriteReply | Columns | "closed" | undefined;

/** What was counted is large: it is not copied, and nothing of it stays here. */
function handedOver(reply: Reply): ArrayBuffer[] {
  if (typeof reply !== "object" || !("restored" in reply)) return [];
  return [...reply.restored.upstreams.values()].flatMap(({ polls, minutes, hours }) => [
    polls.numbers.buffer,
    minutes.buffer,
    hours.buffer,
  ]);
}

function answer(request: StateRequest): Reply {
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

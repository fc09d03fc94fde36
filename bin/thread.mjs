// A thread of the daemon: with what was compiled before, as the daemon itself has it.
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";
import { workerData } from "node:worker_threads";

enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/pacewatch", import.meta.url)));
await import(workerData.module);

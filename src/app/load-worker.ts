import { parentPort, workerData } from "node:worker_threads";
import type { Environment } from "../config/read/interpolate.ts";
import { load } from "../config/load.ts";

const { configPath, environment }: { readonly configPath: string; readonly environment: Environment } =
  workerData;
parentPort?.postMessage(await load(configPath, { environment }), []);

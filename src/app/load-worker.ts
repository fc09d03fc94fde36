import { parentPort } from "node:worker_threads";
import type { Environment } from "../config/read/interpolate.ts";
import { load } from "./features/sections.ts";

type Question = { readonly configPath: string; readonly environment: Environment };

parentPort?.once("message", (question: Question) => void answer(question));

async function answer({ configPath, environment }: Question): Promise<void> {
  const what = await load(configPath, { environment });
  parentPort?.postMessage({ kind: "answered", what }, []);
}

#!/usr/bin/env -S sh -c 'trap "" HUP; f=--disable-sigusr1; node $f -v >&- 2>&- || f=; exec node $f "$0" "$@"'
// By default Node.js answers SIGUSR1 with a debugger that every user of this machine can connect to. Only this flag
// prevents that from the first moment on. Started without it, the first statement below does, once Node.js comes to it.
// Before 22.14 Node.js does not know the flag: the line above leaves it out then, for the sentence below. SIGHUP asks for a
// reload, so that shell ignores it. Node.js resets what it inherits: until it comes to the statements below, SIGHUP ends it.
//
// Plain JavaScript, so that an old Node.js prints that sentence instead of a loader's stack trace.
import { fileURLToPath } from "node:url";

const NEEDED_OF_NODE = [
  "assert",
  "cluster",
  "dns",
  "dns/promises",
  "fs/promises",
  "http",
  "https",
  "inspector",
  "perf_hooks",
  "process",
  "timers/promises",
  "vm",
  "worker_threads",
  "zlib",
];

process.on("SIGUSR1", () => {});
const isDaemon = process.argv[2] === "run";
// A reload may be asked for before there is a config to reload, and would end the process: nothing is read yet.
if (isDaemon) process.on("SIGHUP", () => {});
const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  const inClone = 'run "npm ci" here, which brings it along, and then "npm start" or "npm run demo"';
  const byNpm = `or beside pacewatch with "npm install node-linux-${process.arch}@24", then run "npx pacewatch"`;
  const installed = `get it from https://nodejs.org/en/download, with "nvm install 24"${process.platform === "linux" ? `, ${byNpm}` : ""}`;
  const how = typeof PACEWATCH_COMMIT === "string" ? installed : inClone;
  console.error(`pacewatch needs Node.js 24 or newer, and this is ${process.versions.node}: ${how}.`);
  process.exit(1);
}

// Node.js brings its own modules compiled, and V8 takes that only under the flags they were compiled with. So what a daemon
// needs of them is loaded before the flags below are set: a start takes a tenth less.
if (isDaemon) {
  for (const name of NEEDED_OF_NODE) process.getBuiltinModule(name);
}
const { enableCompileCache } = await import("node:module");
const { setFlagsFromString } = await import("node:v8");
// Each flag is measured in bench/README.md, in this order:
// - The HTTP parser is WebAssembly. Optimizing it takes 10 MB for good, and gains nothing. Two flags, because what one flag
//   implies (--liftoff-only) is worked out only for those of the command line.
// - At the rates of a daemon, V8's compiler in the middle (Maglev) takes more CPU and memory than its code saves. What it
//   would have compiled after 400 calls goes to the optimizing compiler after 1,000, not 3,000.
// - One thread collects a young heap of 4 MB sooner than it can wake others.
// - An object that is allocated in the old heap, because similar ones lived long, keeps alive all that it refers to.
// - The old heap hardly changes: it need not grow to several times its size before it is collected.
setFlagsFromString("--no-wasm-tier-up");
setFlagsFromString("--no-wasm-dynamic-tiering");
setFlagsFromString("--no-maglev");
setFlagsFromString("--invocation-count-for-turbofan=1000");
setFlagsFromString("--no-parallel-scavenge");
setFlagsFromString("--no-allocation-site-pretenuring");
setFlagsFromString("--heap-growing-percent=50");
// The cache of compiled code, without its types: a start takes half the time and a third less memory. Where it cannot be
// written, as in a read-only image, it is only read.
enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/pacewatch", import.meta.url)));
// The build writes this name: sources need no map.
if (typeof PACEWATCH_COMMIT === "string") {
  const { nameSourcesInStackTraces } = await import("../src/platform/stack-traces.ts");
  nameSourcesInStackTraces();
}
await import("../src/main.ts");

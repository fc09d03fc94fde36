#!/usr/bin/env node
// Plain JavaScript, so that an old Node reaches the one line below instead of a loader's stack trace.
import { fileURLToPath } from "node:url";

const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  console.error(
    `pacewatch needs Node.js 24 or newer, this is ${process.versions.node}: run it as "npm start" or "npx pacewatch", which bring their own.`,
  );
  process.exit(1);
}

const { enableCompileCache } = await import("node:module");
const { setFlagsFromString } = await import("node:v8");
// Each of these is measured in docs/performance.md. The parser of HTTP is WebAssembly: to optimize it takes 10 MB for
// good, and gains nothing. A young heap of 4 MB is collected sooner by one thread than it takes to wake others. What is
// put into the old one from the start, as its like lived long, keeps alive all that it refers to long after both are
// over. And the old heap, which hardly changes, need not grow to several times its size before it is looked through.
setFlagsFromString("--liftoff-only");
setFlagsFromString("--no-parallel-scavenge");
setFlagsFromString("--no-allocation-site-pretenuring");
setFlagsFromString("--heap-growing-percent=50");
// What was compiled and stripped of its types once is read from here: a start takes half as long, and a third less
// memory. Where it cannot be written, as in a read-only image, it is only read.
enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/pacewatch", import.meta.url)));
await import("../src/main.ts");

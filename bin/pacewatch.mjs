#!/usr/bin/env node
// Plain JavaScript, so that an old Node reaches the one line below instead of a loader's stack trace.
const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  console.error(
    `pacewatch needs Node.js 24 or newer, this is ${process.versions.node}: run it as "npm start" or "npx pacewatch", which bring their own.`,
  );
  process.exit(1);
}
await import("../src/main.ts");

// npm 10 and 11.6 drop the `.bin/node` link when several optional packages offer the same name,
// so the root's own postinstall makes it. Plain JavaScript: it runs on the old Node that it replaces.
import { existsSync, lstatSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));
const brought = `node-${process.platform}-${process.arch}`;
const link = join(modules, ".bin", "node");

if (
  existsSync(join(modules, brought, "bin", "node")) &&
  lstatSync(link, { throwIfNoEntry: false }) === undefined
) {
  mkdirSync(join(modules, ".bin"), { recursive: true });
  symlinkSync(join("..", brought, "bin", "node"), link);
}

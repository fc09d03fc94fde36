import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const IMAGE_ROOT = "/app";

export type Command = {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

/** What is shipped, which `npm run build` writes, or what it is made of. */
export type Form = "bundle" | "source";

const FOLDERS: Readonly<Record<Form, string>> = { bundle: "dist/", source: "" };

/**
 * How the container image starts Pacewatch, moved to a folder of this machine: what is measured is what is shipped. The
 * root may be another commit's: it ends in a slash, and has its own `Dockerfile` and `dist`.
 */
export async function imageCommand(form: Form = "bundle", root: string = ROOT): Promise<Command> {
  const folder = `${root}${FOLDERS[form]}`;
  const dockerfile = await readFile(`${root}Dockerfile`, "utf8");
  const { args, env } = commandIn(dockerfile);
  // What the image writes into its volume, it writes among temporary files here.
  const here = (text: string): string =>
    text.replaceAll(`${IMAGE_ROOT}/`, folder).replace(/=\/data$/, `=${tmpdir()}`);
  return {
    program: process.execPath,
    args: args.map((arg) => (arg.startsWith("bin/") ? `${folder}${arg}` : here(arg))),
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, here(value)])),
  };
}

/** ENTRYPOINT without its `node`, and ENV, of the last stage. */
function commandIn(dockerfile: string): Pick<Command, "args" | "env"> {
  const stage = dockerfile.slice(dockerfile.lastIndexOf("\nFROM ") + 1).replaceAll(/\\\n\s*/g, "");
  const entry: unknown = JSON.parse(/^ENTRYPOINT (\[.*\])$/m.exec(stage)?.[1] ?? "[]");
  const [program, ...args] = Array.isArray(entry) ? entry.map(String) : [];
  if (program !== "node") {
    throw new Error(`cannot read the Dockerfile: its ENTRYPOINT must start "node", received ${program}`);
  }
  const assigned = stage.matchAll(/^ENV (.*)$/gm).flatMap(([, line = ""]) => line.matchAll(ASSIGNMENT));
  return { args, env: Object.fromEntries(assigned.map(([, name, quoted, bare]) => [name, quoted ?? bare])) };
}

const ASSIGNMENT = /([A-Za-z_]\w*)=(?:"([^"]*)"|(\S*))/g;

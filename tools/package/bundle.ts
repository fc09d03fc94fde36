import { readFile } from "node:fs/promises";
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown, type OutputChunk, type Plugin } from "rolldown";

const ROOT: string = fileURLToPath(new URL("../../", import.meta.url));
const COMMAND = "bin/pacewatch";
const UTC_DATES = join(ROOT, "tools/package/utc-dates.ts");

export type Bundle = {
  /** What stands in which file of the package. */
  readonly files: ReadonlyMap<string, string | Uint8Array>;
  /** The folders of the packages that are in it, in order. */
  readonly packages: readonly string[];
};

/**
 * The transport needs nothing of undici but its client. All of it would be 72 kB more to read at each start; the tests of
 * the transport run on this too (vitest.config.ts).
 */
export const UNDICI_CLIENT: string = join(ROOT, "tools/package/undici-client.mjs");

/** Libraries load two things that nobody calls here; what is shipped has this in their place. */
const NEVER_USED: string = join(ROOT, "tools/package/never-used.mjs");

/** The command and all that it needs of `src` and `node_modules`, in files that share what they have in common. */
export async function bundle(commit: string): Promise<Bundle> {
  const build = await rolldown({
    cwd: ROOT,
    input: { [COMMAND]: join(ROOT, "bin/pacewatch.mjs") },
    platform: "node",
    preserveEntrySignatures: "allow-extension",
    resolve: {
      alias: { undici$: UNDICI_CLIENT, "node:http2": NEVER_USED, "@opentelemetry/api": NEVER_USED },
    },
    plugins: [filesBeside(), builtinsWithoutFacades(), cronWithoutIcu()],
    transform: { define: { PACEWATCH_COMMIT: JSON.stringify(commit) } },
    onLog(level, log) {
      throw new Error(`cannot build: ${level}: ${log.message}`);
    },
  });
  const { output } = await build.generate({
    format: "esm",
    entryFileNames: ({ name }) => (name === COMMAND ? "[name].mjs" : "lib/[name].js"),
    // A file of a package that is imported later may have the name of one of ours.
    chunkFileNames: ({ facadeModuleId }) =>
      facadeModuleId?.includes("node_modules") === true ? "lib/later-[hash].js" : "lib/[name].js",
    // A file for each package, which is loaded only by those who use it.
    codeSplitting: {
      groups: [
        { name: packageFileName, debugName: "packages" },
        { name: "utc-dates", test: UTC_DATES },
        { name: "kernel", test: /\/src\/kernel\// },
      ],
      includeDependenciesRecursively: false,
    },
    // V8 keeps the text of each file, with two bytes for each letter as soon as one is beyond Latin-1.
    charset: "ascii",
    sourcemap: true,
    // The sources are public: a map that says where is enough, and a third of the size.
    sourcemapExcludeSources: true,
    // These names are kept: some libraries look at those of classes, and people at those of functions in stack traces.
    minify: {
      compress: { keepNames: { class: true, function: true } },
      mangle: { keepNames: { class: true, function: true } },
      codegen: { removeWhitespace: true },
    },
    comments: { legal: false },
  });
  await build.close();
  const chunks = output.filter((part): part is OutputChunk => part.type === "chunk");
  const files = new Map(
    output.map((part) => [part.fileName, part.type === "chunk" ? part.code : part.source] as const),
  );
  // The maps of packages would be a quarter of what is shipped, and lead to sources that nobody has.
  for (const { fileName, code, sourcemapFileName } of chunks.filter(({ moduleIds }) =>
    isForeign(moduleIds),
  )) {
    files.set(fileName, code.replace(/\n\/\/# sourceMappingURL=.*\n?$/, "\n"));
    if (sourcemapFileName !== null) files.delete(sourcemapFileName);
  }
  return { files, packages: packagesIn(chunks.flatMap(({ moduleIds }) => moduleIds)) };
}

const NAMED_FILE = /new URL\(\s*"([^"]+)",\s*import\.meta\.url\s*\)/g;
const ANY_FILE = /new URL\([^)]*import\.meta\.url/g;

/**
 * A source names a file beside it in one way: `new URL("name", import.meta.url)`. A module, which is a thread's, becomes
 * an entry of the bundle; another file, or a folder (a name that ends with `/`), is copied. All code is in folders right
 * below the package's own, so one name is right for every file of it.
 */
function filesBeside(): Plugin {
  return {
    name: "files-beside",
    transform: {
      filter: {
        id: { include: /\/(?:src|bin)\/[^?]+\.(?:ts|mjs)$/, exclude: /\/node_modules\// },
        code: "import.meta.url",
      },
      handler(code, id) {
        const named = code.match(NAMED_FILE) ?? [];
        if ((code.match(ANY_FILE) ?? []).length !== named.length) {
          this.error(`${id}: new URL must name a file beside it in double quotes`);
        }
        const mended = code.replaceAll(NAMED_FILE, (whole, name: string) => {
          const path = join(dirname(id), name);
          if (/\.(?:ts|mjs)$/.test(name)) {
            const reference = this.emitFile({ type: "chunk", id: path });
            return `new URL(import.meta.ROLLUP_FILE_URL_${reference})`;
          }
          if (name.endsWith("/")) {
            for (const file of readdirSync(path))
              this.emitFile(copied(join(path, file), `lib/${name}${file}`));
            return whole;
          }
          // A container's own config is mounted over `config`, and hides what was shipped there.
          if (["src", "config"].some((folder) => path.startsWith(join(ROOT, folder)))) {
            this.emitFile(copied(path, `lib/${basename(path)}`));
            return `new URL("${basename(path)}", import.meta.url)`;
          }
          // It has the same place in the package as in the repository.
          return `new URL("../${relative(ROOT, path)}", import.meta.url)`;
        });
        // Every line stays where it was.
        return { code: mended, map: null };
      },
    },
  };
}

const BUILTIN_IMPORT =
  /^import (?:([\w$]+)(?:, )?)?(?:\* as ([\w$]+))?(?:\{ (.+) \})? from "((?:node:)?[\w/]+)";$/gm;

/**
 * An import of one function of Node.js reads all that its module exports, and some of that loads much more:
 * `node:http` has a WebSocket. So what is shipped takes only what it names.
 */
function builtinsWithoutFacades(): Plugin {
  return {
    name: "builtins-without-facades",
    renderChunk(code, { name }) {
      // An old Node.js has no getBuiltinModule, and must get as far as the line that says so.
      if (name === COMMAND) return null;
      // Every line stays where it was.
      return { code: code.replaceAll(BUILTIN_IMPORT, takenFromBuiltin), map: null };
    },
  };
}

function takenFromBuiltin(_: string, whole?: string, all?: string, named?: string, module?: string): string {
  const parts = named && `{ ${named.replaceAll(" as ", ": ")} }`;
  const taken = [whole, all, parts].filter((part) => part !== undefined);
  return taken.map((part) => `const ${part} = globalThis.process.getBuiltinModule("${module}");`).join(" ");
}

/** node-cron asks ICU for the parts of each date. It is given UTC alone, so what is shipped has a few lines in its place. */
function cronWithoutIcu(): Plugin {
  return {
    name: "cron-without-icu",
    transform: {
      filter: { id: /\/node_modules\/node-cron\//, code: "Intl.DateTimeFormat" },
      handler(code) {
        const without = code.replaceAll("Intl.DateTimeFormat", "UtcDates");
        // Every line stays where it was.
        return { code: `import { UtcDates } from ${JSON.stringify(UTC_DATES)}; ${without}`, map: null };
      },
    },
  };
}

function copied(path: string, fileName: string): { type: "asset"; fileName: string; source: Uint8Array } {
  return { type: "asset", fileName, source: readFileSync(path) };
}

function packageFileName(id: string): string | undefined {
  const folder = PACKAGE.exec(id)?.[0];
  return folder && `of-${folder.slice(folder.lastIndexOf("node_modules/") + 13).replaceAll("/", "-")}`;
}

/** The innermost folder below `node_modules`, with its scope. */
const PACKAGE = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;

function isForeign(moduleIds: readonly string[]): boolean {
  return moduleIds.length > 0 && moduleIds.every((id) => PACKAGE.test(id));
}

function packagesIn(moduleIds: readonly string[]): readonly string[] {
  const folders = moduleIds.flatMap((id) => PACKAGE.exec(id)?.[0] ?? []);
  return [...new Set(folders)].toSorted();
}

/** The licences of all packages that are in the bundle, whole, as most of them ask for. */
export async function notices(packages: readonly string[]): Promise<string> {
  const texts = await Promise.all(packages.map(noticeOf));
  return `Pacewatch contains these packages, under these licences.\n${texts.join("")}`;
}

async function noticeOf(folder: string): Promise<string> {
  const { name, version, license, repository }: PackageManifest = JSON.parse(
    await readFile(join(folder, "package.json"), "utf8"),
  );
  const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file));
  const texts = await Promise.all(files.toSorted().map((file) => readFile(join(folder, file), "utf8")));
  const place = typeof repository === "object" ? repository.url : repository;
  const whole =
    texts.length === 0 ? [`The package has no file with its license. Its sources: ${place}`] : texts;
  return `\n${"=".repeat(80)}\n${name} ${version} (${license})\n\n${whole.map((text) => `${text.trim()}\n`).join("\n")}`;
}

type PackageManifest = {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly repository?: string | { readonly url: string };
};

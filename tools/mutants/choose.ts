import { crc32 } from "node:zlib";
import { seededRandom } from "../../src/simulator/randomness.ts";
import { type Site, sitesIn } from "./sites.ts";

export type Mutant = Site & {
  /** From the root: `src/kernel/budget/leases.ts`. */
  readonly file: string;
};

/** A change that was looked at: the program does the same with it. By its text, so that it stays when lines move. */
export type Equivalent = {
  readonly file: string;
  /** The whole line, without its indent. */
  readonly text: string;
  readonly change: string;
  readonly why: string;
};

/** `src/kernel/budget/leases.ts` is in `kernel/budget`, `src/app/build.ts` in `app`. */
export function folderOf(file: string): string {
  return file.split("/").slice(1, -1).join("/");
}

export type Choice = {
  readonly perFolder: number;
  readonly seed: number;
  readonly equivalents: readonly Equivalent[];
};

/** For the same sources and seed the same ones; what was changed in one folder changes no other's. */
export function chooseMutants(sources: ReadonlyMap<string, string>, choice: Choice): readonly Mutant[] {
  const folders = Map.groupBy([...sources.keys()].toSorted(), folderOf);
  return [...folders].flatMap(([folder, files]) => {
    const mutants = files.flatMap((file) => mutantsOf(file, sources.get(file) ?? "", choice.equivalents));
    return drawn(mutants, choice.perFolder, seededRandom(choice.seed + crc32(folder)));
  });
}

function mutantsOf(file: string, source: string, equivalents: readonly Equivalent[]): readonly Mutant[] {
  const lines = source.split("\n");
  return sitesIn(source)
    .filter(
      ({ line, change }) =>
        !equivalents.some(
          (known) => known.file === file && known.change === change && known.text === lines[line - 1]?.trim(),
        ),
    )
    .map((site) => ({ ...site, file }));
}

function drawn<Item>(items: readonly Item[], most: number, random: () => number): readonly Item[] {
  const left = [...items];
  const taken: Item[] = [];
  while (left.length > 0 && taken.length < most)
    taken.push(...left.splice(Math.floor(random() * left.length), 1));
  return taken;
}

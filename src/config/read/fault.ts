import { escapeText } from "../../kernel/text/escape.ts";
import type { Path } from "./tree.ts";
import type { NameOf } from "./wording.ts";

/** Something that is wrong with a config, and where: line and column count from 1. */
export type Fault = {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  /** Whoever listens, or has an account on this machine, can have a key: it is told before all else. */
  readonly exposesKey?: true;
};

/** One line: a config may hold any characters, and a fault quotes some of them. */
export function formatFault({ file, line, column, message }: Fault): string {
  return escapeText(`${file}:${line}:${column}: ${message}`);
}

const MAX_FAULTS = 200;

/** Sorted by place. Each once, as an alias shows the same place twice, and no more than anybody reads. */
export function listed(faults: readonly Fault[]): readonly Fault[] {
  const distinct = new Map(faults.map((fault) => [formatFault(fault), fault]));
  const all = [...distinct.values()].sort(byPlace);
  const next = all[MAX_FAULTS];
  if (next === undefined) return all;
  const more = { ...next, message: `${all.length - MAX_FAULTS} more faults from here on` };
  return [...all.slice(0, MAX_FAULTS), more];
}

function byPlace(a: Fault, b: Fault): number {
  return a.line - b.line || a.column - b.column || (a.message < b.message ? -1 : 1);
}

/** A sentence that names parts of the config, which are named as they are written: see `writtenAt` in `Expanded`. */
type Sentence = string | ((nameOf: NameOf) => string);

/** Something that is wrong at a path; its place is found in the tree. */
export type Complaint = {
  readonly path: Path;
  /** Whether to point at the key instead of its value. */
  readonly atKey: boolean;
  readonly sentence: Sentence;
  readonly exposesKey?: true;
  /** An unknown key: where it would stand if it had the name that was probably meant. */
  readonly meant?: Path;
  /** One of these is missing. Where an unknown key means one of them, nothing more is said. */
  readonly lacks?: readonly Path[];
};

export function complain(path: Path, sentence: Sentence): Complaint {
  return { path, atKey: false, sentence };
}

/** The sentence begins with the name of what is there. */
export function complainOfValue(path: Path, says: string): Complaint {
  return complain(path, (nameOf) => `"${nameOf(path)}" ${says}`);
}

export function complainOfKey(path: Path, sentence: Sentence): Complaint {
  return { path, atKey: true, sentence };
}

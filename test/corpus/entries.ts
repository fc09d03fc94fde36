import { readFileSync } from "node:fs";

export type RefusalEntry = {
  readonly id: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly means: string;
  readonly fair?: readonly string[];
  readonly wait_s: number | null;
  readonly wait_fair?: number;
  /** Epoch seconds. */
  readonly at?: number;
  /** Why another reading than the source's is kept. */
  readonly contested?: string;
  readonly source: string;
};

export function entriesOf(file: string): readonly RefusalEntry[] {
  const text = readFileSync(new URL(`../fixtures/refusals/${file}`, import.meta.url), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as RefusalEntry);
}

/** The meanings of its source, and others that are not wrong. */
export function meaningsOf({ means, fair = [] }: RefusalEntry): readonly string[] {
  // An overload is told as a server error.
  return [means, ...fair].map((each) => (each === "overload" ? "server" : each));
}

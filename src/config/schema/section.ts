import type { z } from "zod";
import type { AuthKinds, Budget, Config, Expectation, Upstream, Web } from "../../kernel/config/config.ts";
import type { Rule } from "../keys/notes.ts";
import type { Complaint, Fault } from "../read/fault.ts";

/** Where features add keys, with all keys that stand there. */
type Places = {
  readonly config: Config;
  readonly web: Web;
  readonly budget: Budget;
  readonly upstream: Upstream;
  readonly expect: Expectation;
  readonly auth: AuthKinds;
};

type Keys<Place extends keyof Places> = {
  readonly at: Place;
  /** The key that these stand before in docs and messages; absent for the end. */
  readonly before?: string;
  readonly shape: { readonly [Key in keyof Places[Place]]?: z.ZodType<Places[Place][Key]> };
  /** Between the keys of the place; of an upstream, with what it has from `defaults`. A way to authenticate has its own. */
  readonly rules?: Place extends "auth" ? never : readonly Rule[];
};

/** A feature adds keys to the config in one place, and all that is known of them. */
export type Section = { [Place in keyof Places]: Keys<Place> }[keyof Places] & {
  /** The headers that a way to authenticate sends, in lower case: none of the config may have the same name. */
  readonly sends?: readonly string[];
  /** These are made of a budget or an upstream once its keys are read. The budgets are complete by then. */
  readonly ofBudget?: (budget: Budget) => Partial<Budget>;
  readonly ofUpstream?: (upstream: Upstream, budgets: ReadonlyMap<string, Budget>) => Partial<Upstream>;
  /** It is allowed, but probably not intended. */
  readonly warnings?: (config: Config) => readonly Complaint[];
  readonly contents?: ContentKind;
};

/** Files whose content is a part of the config. */
export type ContentKind = {
  /** As the schema notes it of the key that names such a file. */
  readonly kind: string;
  readonly mostBytes: number;
  /** For one config, and only if that names such a file. */
  open(): Promise<Contents>;
};

export type Contents = {
  /** Each file once. */
  read(
    bytes: Buffer,
    file: string,
  ): { readonly faults: readonly Fault[]; readonly warnings: readonly Fault[] };
  /** The upstream with what its files hold. */
  filled(upstream: Upstream): Upstream;
};

/** The kernel's keys of one place, with those of the features where they stand. */
export function withSections<Shape extends z.core.$ZodShape>(
  own: Shape,
  at: Section["at"],
  sections: readonly Section[],
): Shape {
  const entries = Object.entries<z.core.$ZodType>(own);
  for (const { before, shape } of sections.filter((section) => section.at === at)) {
    const place = entries.findIndex(([key]) => key === before);
    entries.splice(place < 0 ? entries.length : place, 0, ...Object.entries<z.core.$ZodType>(shape));
  }
  // Whoever reads what it decodes knows the kernel's keys, and the others where their features are there.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(entries) as Shape & Record<string, z.core.$ZodType>;
}

export function rulesAt(at: Section["at"], sections: readonly Section[]): readonly Rule[] {
  return sections.flatMap((section) => (section.at === at ? (section.rules ?? []) : []));
}

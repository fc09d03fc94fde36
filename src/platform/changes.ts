import { listing } from "../kernel/text/listing.ts";

/** It has a name, and a text that is another one once it has changed. */
export type Named = ReadonlyMap<string, string>;

export function namedTexts(settings: object): Named {
  return new Map(Object.entries(settings).map(([name, value]) => [name, JSON.stringify(value ?? null)]));
}

/** For the log: `users added: alice, bob`. By name only: a text may be a secret. */
export function changesBetween(what: string, before: Named, after: Named): readonly string[] {
  const changes = {
    added: [...after.keys()].filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
    changed: [...after].flatMap(([name, text]) =>
      before.has(name) && before.get(name) !== text ? [name] : [],
    ),
  };
  return Object.entries(changes).flatMap(([how, names]) =>
    names.length === 0 ? [] : `${what} ${how}: ${listing(names)}`,
  );
}

/** Another for another upstream. A file is told by its digest: a thousand upstreams may share a large one. */
export function textOf(upstream: object): string {
  return JSON.stringify(upstream, (_, value: unknown) => (value instanceof Uint8Array ? undefined : value));
}

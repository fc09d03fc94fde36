/**
 * Whoever asks for the same while it is under way shares it. So a file on a file system that hangs holds one of the few
 * threads that read files, however often it is asked for.
 */
export function sharedWhileUnderWay<Result>(
  work: (name: string) => Promise<Result>,
): (name: string) => Promise<Result> {
  const underWay = new Map<string, Promise<Result>>();
  return (name) => {
    const known = underWay.get(name);
    if (known !== undefined) return known;
    const begun = work(name).finally(() => underWay.delete(name));
    underWay.set(name, begun);
    return begun;
  };
}

/** One runs at a time: all who ask while it does share the next. */
export function sharedNext<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<Result> | undefined;
  const begin = (): Promise<Result> => {
    next = undefined;
    const begun = work();
    last = begun;
    return begun;
  };
  return () => (next ??= last.then(begin, begin));
}

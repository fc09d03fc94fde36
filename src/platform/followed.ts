export type Reading<Value> =
  | { readonly kind: "read"; readonly value: Value }
  | { readonly kind: "unusable"; readonly problem: string };

export type Followed<Value> = {
  readonly value: () => Value;
  readonly reread: () => Promise<Value>;
};

/**
 * A value from files that change while the program runs. A half-written file is the usual failure: the last good value
 * stays until the next reading. `onProblem` is called once for each change of the problem, not for each reading; with
 * undefined when it is over.
 */
export function followed<Value>(
  first: Value,
  read: () => Promise<Reading<Value>>,
  onProblem: (problem: string | undefined) => void,
): Followed<Value> {
  let value = first;
  let problem: string | undefined;
  const reread = async (): Promise<Value> => {
    const reading = await read();
    const found = reading.kind === "unusable" ? reading.problem : undefined;
    if (reading.kind === "read") value = reading.value;
    if (found !== problem) onProblem((problem = found));
    return value;
  };
  return { value: () => value, reread };
}

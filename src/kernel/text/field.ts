/** Others put fields into a record of somebody else, by name. Plain data: it crosses threads. */
export type Fields = Readonly<Record<string, unknown>>;

/** One name of such a record, with the type of what stands there. Nobody else reads it. */
export type Field<Content> = {
  readonly name: string;
  of(fields: Fields | undefined): Content | undefined;
};

export function field<Content>(name: string): Field<Content> {
  // Only its owner writes under its name.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { name, of: (fields) => fields?.[name] as Content | undefined };
}

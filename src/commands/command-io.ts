/** What every command is given: where its config is, what surrounds it, and where to write. */
export type CommandIo = {
  readonly configPath: string;
  readonly json: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
};

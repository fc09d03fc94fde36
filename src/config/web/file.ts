import type { Opened } from "../../platform/opened.ts";
import type { WebConfig } from "../../kernel/config/web-config.ts";
import { type Marks, hasChanged, markOf } from "../../platform/mark.ts";
import { formatFault } from "../read/fault.ts";
import { readRegularFile } from "../../platform/regular-file.ts";

/** The web config file, which may change while the program runs, as may the certificates that it names. */
export class WebConfigFile {
  readonly #path: string;
  #marks: Marks = new Map();

  constructor(path: string) {
    this.#path = path;
  }

  async read(): Promise<Opened<WebConfig>> {
    const marks = new Map<string, string>();
    // Only for those who have such a file: the libraries that read it are large.
    const { readWebConfig } = await import("./read.ts");
    const reading = await readWebConfig(this.#path, async (file) => {
      marks.set(file, await markOf(file));
      return readRegularFile(file);
    });
    this.#marks = marks;
    return reading.kind === "opened" ? reading : { kind: "refused", faults: reading.faults.map(formatFault) };
  }

  /** Whether one of the files has changed since it was read. */
  hasChanged(): Promise<boolean> {
    return hasChanged(this.#marks);
  }
}

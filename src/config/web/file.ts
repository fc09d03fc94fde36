import { readFile, stat } from "node:fs/promises";
import type { WebConfigReading } from "../../core/config/web-config.ts";

/** The web config file, which may change while the program runs, as may the certificates that it names. */
export class WebConfigFile {
  readonly #path: string;
  /** What each file looked like just before it was read. */
  #marks: ReadonlyMap<string, string> = new Map();

  constructor(path: string) {
    this.#path = path;
  }

  async read(): Promise<WebConfigReading> {
    const marks = new Map<string, string>();
    // Only for those who have such a file: the libraries that read it are large.
    const { readWebConfig } = await import("./read.ts");
    const reading = await readWebConfig(this.#path, async (file) => {
      marks.set(file, await markOf(file));
      return readFile(file);
    });
    this.#marks = marks;
    return reading;
  }

  /** Whether one of the files has changed since it was read. */
  async hasChanged(): Promise<boolean> {
    const changes = [...this.#marks].map(async ([file, mark]) => (await markOf(file)) !== mark);
    return (await Promise.all(changes)).includes(true);
  }
}

/** The inode is in it, as Kubernetes swaps a link; so a new file is seen even if it is older. */
async function markOf(file: string): Promise<string> {
  try {
    const { mtimeNs, size, ino } = await stat(file, { bigint: true });
    return `${mtimeNs} ${size} ${ino}`;
  } catch (error) {
    return String(error);
  }
}

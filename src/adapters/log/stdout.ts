import { fstatSync, writeSync } from "node:fs";

const STDOUT_FD = 1;
const MOST_WAITING_BYTES = 1024 * 1024;

/**
 * Lines to standard output that never stop the process, whatever is on the other side. A pipe whose reader
 * sleeps is written to without blocking, and beyond a bound its lines are dropped; a file on a full disk loses
 * lines only while the disk is full; a reader that went away is no error. The next line that fits is preceded by
 * a notice of how many were lost.
 *
 * Not pino's own destination: on a full disk that one retries for ever when the process ends, so it never ends.
 * And a file is not written to through process.stdout, which tells of a loss too late to know which line it was.
 */
export class StdoutLines {
  readonly #put: (text: string) => boolean = isFileLike() ? fileWriter() : putInStream;
  readonly #lostNotice: (lines: number) => string;
  #lost = 0;

  constructor(lostNotice: (lines: number) => string) {
    this.#lostNotice = lostNotice;
    if (!process.stdout.listeners("error").includes(ignoreError)) {
      process.stdout.on("error", ignoreError);
    }
  }

  write(line: string): void {
    if (this.#lost > 0 && this.#put(this.#lostNotice(this.#lost))) {
      this.#lost = 0;
    }
    if (!this.#put(line)) {
      this.#lost += 1;
    }
  }
}

function isFileLike(): boolean {
  try {
    const stat = fstatSync(STDOUT_FD);
    return !process.stdout.isTTY && !stat.isFIFO() && !stat.isSocket();
  } catch {
    return false;
  }
}

function fileWriter(): (text: string) => boolean {
  let isCut = false;
  return (text) => {
    const whole = isCut ? `\n${text}` : text;
    try {
      isCut = writeSync(STDOUT_FD, whole) < Buffer.byteLength(whole);
      return !isCut;
    } catch {
      return false;
    }
  };
}

function putInStream(text: string): boolean {
  const { stdout } = process;
  if (stdout.destroyed || stdout.errored !== null || stdout.writableLength > MOST_WAITING_BYTES) {
    return false;
  }
  stdout.write(text);
  return true;
}

/** Nobody is left to be told. */
function ignoreError(): void {}

import { fstatSync, writeSync } from "node:fs";

const STDOUT_FD = 1;
const MOST_WAITING_BYTES = 1024 * 1024;

/**
 * Writes lines to standard output and never stops the process, whatever reads them. A pipe with a slow reader is
 * written without blocking, and beyond a bound its lines are dropped; a file on a full disk loses lines only while the
 * disk is full; a closed pipe is no error. A notice of how many were lost precedes the next line that fits.
 *
 * Not the destination of pino: on a full disk, that one retries for ever when the process ends. And a file is not
 * written through process.stdout, which reports a loss too late to know which line it was.
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

/** There is no place left to report it. */
function ignoreError(): void {}

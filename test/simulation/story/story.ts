/** What befell the world, and every step of every request. */
export type Detail = "event" | "request";

export type StoryListener = (detail: Detail, line: string) => void;

/** What happened, for people. Telling costs nothing where nobody listens. */
export class Story {
  readonly #listener: StoryListener | undefined;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number, listener: StoryListener | undefined) {
    this.#nowMs = nowMs;
    this.#listener = listener;
  }

  tell(detail: Detail, line: () => string): void {
    const indent = detail === "event" ? "" : "    ";
    this.#listener?.(detail, `${moment(this.#nowMs())}  ${indent}${line()}`);
  }
}

/** `1:02:03.045` */
function moment(atMs: number): string {
  const whole = Math.round(atMs);
  const parts = [Math.floor(whole / 60_000) % 60, Math.floor(whole / 1_000) % 60];
  const [minutes, seconds] = parts.map((part) => String(part).padStart(2, "0"));
  return `${Math.floor(whole / 3_600_000)}:${minutes}:${seconds}.${String(whole % 1_000).padStart(3, "0")}`;
}

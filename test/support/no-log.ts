import type { Log } from "../../src/kernel/text/log.ts";

const mute = (): void => {};

export const noLog: Log = { debug: mute, info: mute, warn: mute, error: mute };

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/**
 * One atomic script. The body can use `now` (the server's clock, in ms with a fraction), `run` (the server's run id)
 * and `num`, which writes a number with all its digits (Lua would return only whole ones).
 */
export type RedisScript = {
  /** The label in the metrics. */
  readonly call: string;
  readonly body: string;
  readonly sha: string;
};

/** The run id is read inside the script, because the connection may lead to another server by then. */
const SERVER_CLOCK = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
`;

const NUMBERS = "local function num(value) return string.format('%.17g', value) end";

/** Tests replace the `clock`, which must set `now` and `run`. */
export function redisScript(call: string, body: string, clock: string = SERVER_CLOCK): RedisScript {
  const whole = `${clock.trim()}\n${NUMBERS}\n${body.trim()}\n`;
  return { call, body: whole, sha: createHash("sha1").update(whole).digest("hex") };
}

export function readLua(folder: URL, ...names: readonly string[]): string {
  return names.map((name) => readFileSync(new URL(`${name}.lua`, folder), "utf8")).join("\n");
}

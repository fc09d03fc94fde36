import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/**
 * One atomic step on the server. The body has `now` (the server's own, in ms with a fraction), `run` (which life of it
 * this is) and `num`, which writes a number with all its digits: by itself Lua answers whole ones alone.
 */
export type RedisScript = {
  /** As metrics name it. */
  readonly call: string;
  readonly body: string;
  readonly sha: string;
};

/** The server's own life is asked of it inside of the step: by then the connection may lead to another one. */
const SERVER_CLOCK = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
`;

const NUMBERS = "local function num(value) return string.format('%.17g', value) end";

/** `clock` is another one for tests: it must set `now` and `run`. */
export function redisScript(call: string, body: string, clock: string = SERVER_CLOCK): RedisScript {
  const whole = `${clock.trim()}\n${NUMBERS}\n${body.trim()}\n`;
  return { call, body: whole, sha: createHash("sha1").update(whole).digest("hex") };
}

/** The bodies lie in the folders `ledger` and `board`, as what they are: Lua. */
export function readLua(...names: readonly string[]): string {
  return names.map((name) => readFileSync(new URL(`${name}.lua`, import.meta.url), "utf8")).join("\n");
}

import { createHash } from "node:crypto";
import { MOST_BYTES, type Reading, type Register, type Written } from "../lead/register.ts";
import type { Redis } from "./connection.ts";

/**
 * A server's data has another id after each failover and after a restart: then what was written may be lost. Replicas
 * answer reads too, of what was there a moment ago.
 */
const ERA = `
local info = redis.pcall('INFO', 'replication')
if type(info) == 'table' then
  return redis.error_reply('NOPERM the lock needs the right to INFO: give its user +info')
end
if not string.find(info, 'role:master', 1, true) then
  return redis.error_reply('READONLY this server is a replica')
end
local era = string.match(info, 'master_replid:(%x+)')
`;

const READ = `${ERA}
local kept = redis.pcall('GET', KEYS[1])
if type(kept) == 'table' then kept = 'not a string' end
if kept and #kept > ${2 * MOST_BYTES} then kept = 'too long' end
return { era, kept }`;

const WRITE = `${ERA}
local kept = redis.call('GET', KEYS[1])
if era ~= ARGV[1] or (kept and redis.sha1hex(kept) or '') ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], era .. '\\n' .. ARGV[3])
return 1`;

/** One key of Redis, alone or with Sentinel. It keeps the id of the data beside the value. */
export class RedisRegister implements Register {
  readonly #redis: Pick<Redis, "run">;
  readonly #key: string;

  constructor(redis: Pick<Redis, "run">, key: string) {
    this.#redis = redis;
    this.#key = key;
  }

  async read(): Promise<Reading> {
    const reply = await this.#redis.run(READ, this.#key);
    const [era, kept]: readonly unknown[] = Array.isArray(reply) ? reply : [];
    if (typeof era !== "string") throw new Error("Redis does not tell the id of its data");
    if (typeof kept !== "string") return { era, value: undefined, version: `${era} `, isSure: false };
    const [, writtenIn, value = kept] = /^([\da-f]{40})\n(.*)$/s.exec(kept) ?? [];
    return { era, value, version: versionOf(era, kept), isSure: writtenIn === era };
  }

  async write(value: string, version: string): Promise<Written> {
    const [era = "", sha = ""] = version.split(" ");
    const reply = await this.#redis.run(WRITE, this.#key, era, sha, value);
    if (reply !== 1) return { kind: "changed" };
    return { kind: "written", version: versionOf(era, `${era}\n${value}`) };
  }
}

function versionOf(era: string, kept: string): string {
  return `${era} ${createHash("sha1").update(kept).digest("hex")}`;
}

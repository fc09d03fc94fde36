/** An editor can tell by these patterns of the JSON Schema what is wrong with a text before `check` does. */

/** Leading zeros are allowed. */
const ZEROS = "0*";

/** The whole numbers from `min` to `max`. */
export function numbersPattern(min: number, max: number): string {
  const parts: string[] = [];
  for (let low = min; low <= max;) {
    const free = freeDigits(low, max);
    const block = 10 ** free;
    const head = String(low / block);
    const first = Number(head.at(-1));
    let last = first;
    while (last < 9 && low + (last - first + 2) * block - 1 <= max) last += 1;
    parts.push(`${head.slice(0, -1)}${first === last ? first : `[${first}-${last}]`}${"\\d".repeat(free)}`);
    low += (last - first + 1) * block;
  }
  return `${ZEROS}(?:${parts.join("|")})`;
}

/** How many last digits of `low` may be any without passing `max`. */
function freeDigits(low: number, max: number): number {
  let free = 0;
  if (low === 0) return free;
  while (low % 10 ** (free + 1) === 0 && low + 10 ** (free + 1) - 1 <= max) free += 1;
  return free;
}

/** An amount from `min` to `max` in one of these units, such as `15s` or `64KiB`. */
export function amountsPattern(units: Readonly<Record<string, number>>, min: number, max: number): RegExp {
  const parts = Object.entries(units).flatMap(([unit, size]) => {
    const [low, high] = [Math.ceil(min / size), Math.floor(max / size)];
    return low > high ? [] : [`${numbersPattern(low, high)}${unit}`];
  });
  return new RegExp(`^(?:${parts.join("|")})$`);
}

const PORTS = numbersPattern(0, 65_535);

/** The host may be missing, the port may be 0. */
export const LISTEN_PATTERN: RegExp = new RegExp(`^(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]*):${PORTS}$`);

export const ADDRESS_PATTERN: RegExp = new RegExp(
  `^(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+):${numbersPattern(1, 65_535)}$`,
);

const URL = "[hH][tT][tT][pP][sS]?://[^\\s\\\\/?#@]+(?:[/?][^\\s\\\\#]*)?";

export const URL_PATTERN: string = `^${URL}$`;
export const PROXY_PATTERN: string = `^(?:env|none|${URL})$`;
export const PATH_PATTERN: string = "^/[^\\s\\\\#]*$";
export const REDIS_URL_PATTERN: string = "^rediss?://[^\\s\\\\/?#@]+(?:/\\d{0,5})?$";
export const NETWORK_PATTERN: string = "^[0-9A-Fa-f:.]{2,45}(?:/\\d{1,3})?$";
export const CRON_PATTERN: string = "^\\s*(?:@[A-Za-z]+|\\S+(?:\\s+\\S+){4,5})\\s*$";
export const TIME_ZONE_PATTERN: string = "^[A-Za-z0-9+:_/-]{1,64}$";

import { isIPv6 } from "node:net";
import type { Address } from "../../kernel/config/config.ts";

const ADDRESS = /^(?:\[(?<v6>[0-9A-Fa-f:.]+)\]|(?<name>[A-Za-z0-9.-]*)):(?<port>\d{1,5})$/;

/** `127.0.0.1:10429`, `[::1]:0`, and `:10429` for all IPv4 addresses. */
export function parseListen(text: string): Address | undefined {
  const groups = ADDRESS.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const port = Number(groups["port"]);
  const v6 = groups["v6"];
  if (port > 65_535 || (v6 !== undefined && !isIPv6(v6))) return undefined;
  return { host: v6 ?? (groups["name"] || "0.0.0.0"), port };
}

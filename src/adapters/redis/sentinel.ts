import { createClient } from "@redis/client";
import type { RedisAddress } from "../../core/config/config.ts";
import { messageOf } from "../../core/text/escape.ts";
import type { RedisSocket } from "./options.ts";

const ANSWER_WITHIN_MS = 1_000;

/** Who is the master now, by the first sentinel that knows. They are asked anew for every connection. */
export async function masterOf(
  name: string,
  sentinels: readonly RedisAddress[],
  socket: RedisSocket,
  signal: AbortSignal,
): Promise<RedisAddress> {
  let problem = "none was asked";
  for (const sentinel of sentinels) {
    if (signal.aborted) break;
    try {
      return await ask(sentinel, name, socket);
    } catch (error) {
      problem = messageOf(error);
    }
  }
  throw new Error(`cannot find the master: no sentinel knows "${name}": ${problem}`);
}

async function ask({ host, port }: RedisAddress, name: string, socket: RedisSocket): Promise<RedisAddress> {
  const client = createClient({
    RESP: 2,
    disableClientInfo: true,
    maintNotifications: "disabled",
    socket: { ...socket, host, port },
  });
  client.on("error", () => {});
  try {
    await client.connect();
    const answer: unknown = await client.sendCommand(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name], {
      timeout: ANSWER_WITHIN_MS,
    });
    return addressIn(answer);
  } finally {
    if (client.isOpen) client.destroy();
  }
}

function addressIn(answer: unknown): RedisAddress {
  if (!Array.isArray(answer)) throw new Error("it does not know this name");
  const [host, port]: readonly unknown[] = answer;
  if (typeof host !== "string" || typeof port !== "string") throw new Error("its answer is no address");
  return { host, port: Number(port) };
}

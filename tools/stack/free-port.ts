import { once } from "node:events";
import { createServer } from "node:net";

/** Below those that systems hand out by themselves: what nobody listens on stays so while others ask for any port. */
const FIRST = 15_000;
const COUNT = 16_000;
const TRIES = 100;

/** For programs that cannot be asked which port they took, and for ports that nobody is to listen on. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (await isFree(port)) return port;
  }
  throw new Error("cannot find a free port");
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}

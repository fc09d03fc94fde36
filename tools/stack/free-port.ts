import { once } from "node:events";
import { createServer } from "node:net";

/** For programs that cannot be asked which port they took. Somebody else may be quicker, though hardly ever is. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("cannot find a free port");
  return address.port;
}

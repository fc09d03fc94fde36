import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { writeCertificate } from "../../../test/http/certificates.ts";
import type { Attack } from "../attack.ts";
import { crowd } from "../crowd.ts";

/** The server signs, the client only sends the same bytes again: that costs the server a hundred times as much. */
export const attack: Attack = {
  name: "1,000 connections that begin a TLS handshake and leave",
  config: async (folder) => {
    writeCertificate(folder, "server", { key: "rsa" });
    const file = join(folder, "web.yaml");
    await writeFile(file, "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n");
    return { web: { probe_listen: "127.0.0.1:0", config_file: file } };
  },
  run: async (target, signal) => {
    const hello = await clientHello();
    let count = 0;
    await crowd(target, signal, 1_000, async (socket) => {
      count += 1;
      socket.write(hello);
      // A third waits for more, so that places stay taken too.
      if (count % 3 === 0) return;
      socket.resume().once("data", () => socket.destroy());
    });
  },
};

/** The first message of a client's handshake. */
async function clientHello(): Promise<Buffer> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const client = connectTls({ host: "127.0.0.1", port }).on("error", () => {});
  const [socket] = await once(server, "connection");
  const [hello]: Buffer[] = await once(socket, "data");
  client.destroy();
  server.close();
  if (hello === undefined) throw new Error("cannot learn how a handshake begins");
  return hello;
}

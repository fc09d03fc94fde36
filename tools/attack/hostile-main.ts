import { createServer } from "node:http";
import { HOSTILITIES } from "./answers.ts";

/** A hostile upstream in a process of its own. */
const hostility = HOSTILITIES[process.argv[2] ?? ""];
if (hostility === undefined) throw new Error("cannot attack: the argument must be the name of a hostility");
let turn = 0;
const server = createServer({ keepAlive: false }, (request, response) => {
  const { status, headers, body } = hostility.answer(request, (turn += 1));
  if (hostility.isRaw === true) {
    request.socket.write(body);
    return;
  }
  for (const [name, value] of headers) response.appendHeader(name, value);
  response.setHeader("Connection", "close");
  response.writeHead(status);
  if (hostility.isUnfinished === true) response.write(body);
  else response.end(body);
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  const address = server.address();
  process.send?.({ port: typeof address === "object" && address !== null ? address.port : 0 });
});
process.once("disconnect", () => process.exit());

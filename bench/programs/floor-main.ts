import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { connect as connectTls, createSecureContext } from "node:tls";
import { Client, type Dispatcher } from "undici";
import type { FloorQuestion } from "./floor.ts";

/**
 * The least that Node.js takes for a request: a socket, one write, the answer read to its end, or the same by undici's
 * client. No schedule, no judgement, no metrics.
 */

const PATH = "/v1/resources";
const HEADERS = { accept: "application/json", authorization: "Bearer test-key-bench" };

let asked = 0;

process.on("message", (question: FloorQuestion) => {
  if (question !== "asked") start(question);
  process.send?.(asked);
});
process.once("disconnect", () => process.exit());

function start({
  url,
  connection,
  caFile,
  perSecond,
  upstreams,
  client,
}: Exclude<FloorQuestion, string>): void {
  const { protocol, hostname, host, port } = new URL(url);
  const secureContext = createSecureContext({ ca: readFileSync(caFile) });
  const isKept = connection === "reuse";
  const last = isKept ? "keep-alive" : "close";
  const lines = Object.entries({ host, connection: last, ...HEADERS }).map((header) => header.join(": "));
  const request = `GET ${PATH} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
  const kept: (Socket | undefined)[] = [];
  const open = (): Socket => {
    const socket = connect(Number(port), hostname);
    socket.setNoDelay(true).on("error", () => undefined);
    if (protocol === "http:") return socket;
    return connectTls({ socket, host: hostname, secureContext }).on("error", () => undefined);
  };
  const askBare = (upstream: number): void => {
    const before = kept[upstream];
    if (before !== undefined && !before.destroyed) return void before.write(request);
    const socket = open();
    if (isKept) kept[upstream] = socket;
    socket.resume();
    socket.write(request);
  };
  const clients: AskingClient[] = [];
  const askByUndici = (upstream: number): void =>
    (clients[upstream] ??= new AskingClient(url, open, isKept)).ask();
  const ask = client === "node" ? askBare : askByUndici;
  // Where a timer is late, what is due is made up for.
  const startMs = performance.now();
  setInterval(
    () => {
      const due = ((performance.now() - startMs) / 1_000) * perSecond;
      for (; asked < due; asked += 1) ask(asked % upstreams);
    },
    Math.max(1, 1_000 / perSecond),
  );
}

/** One client, one request after the other. */
class AskingClient {
  readonly #client: Client;
  readonly #handler: Dispatcher.DispatchHandler;

  constructor(url: string, open: () => Socket, isKept: boolean) {
    let socket: Socket | undefined;
    this.#client = new Client(new URL(url).origin, {
      connect: (_options, callback) => {
        const opened = open();
        socket = opened;
        const ready = url.startsWith("https:") ? "secureConnect" : "connect";
        opened.once(ready, () => callback(null, opened));
      },
      allowH2: false,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#handler = {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseData: () => undefined,
      onResponseEnd: () => void (isKept || socket?.destroy()),
      onResponseError: () => undefined,
    };
  }

  ask(): void {
    this.#client.dispatch({ path: PATH, method: "GET", headers: HEADERS }, this.#handler);
  }
}

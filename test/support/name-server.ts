import { createSocket, type Socket } from "node:dgram";

export type NameAnswer =
  | { readonly kind: "addresses"; readonly ipv4: readonly string[]; readonly ttlSeconds: number }
  | { readonly kind: "unknown" | "failing" }
  | { readonly kind: "silent" };

const CODE = { addresses: 0, failing: 2, unknown: 3 } as const;
const TYPE_A = 1;

/** A name server on loopback. It answers for IPv6 as for IPv4, but has no such addresses. */
export class NameServer implements AsyncDisposable {
  readonly asked: string[] = [];
  readonly #socket: Socket = createSocket("udp4");
  readonly #answerOf: (name: string, type: "A" | "AAAA") => NameAnswer;

  private constructor(answerOf: (name: string, type: "A" | "AAAA") => NameAnswer) {
    this.#answerOf = answerOf;
    this.#socket.on("message", (message, { port, address }) => {
      const { name, type, end } = questionIn(message);
      this.asked.push(`${type} ${name}`);
      const answer = this.#answerOf(name, type);
      if (answer.kind === "silent") return;
      this.#socket.send(answerTo(message.subarray(0, end), type, answer), port, address);
    });
  }

  static async start(answerOf: (name: string, type: "A" | "AAAA") => NameAnswer): Promise<NameServer> {
    const server = new NameServer(answerOf);
    await new Promise<void>((resolve) => void server.#socket.bind(0, "127.0.0.1", resolve));
    return server;
  }

  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => void this.#socket.close(resolve));
  }
}

function questionIn(message: Buffer): { name: string; type: "A" | "AAAA"; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = message.readUInt16BE(at + 1) === TYPE_A ? "A" : "AAAA";
  return { name: labels.join(".").toLowerCase(), type, end: at + 5 };
}

function answerTo(
  question: Buffer,
  type: "A" | "AAAA",
  answer: Exclude<NameAnswer, { readonly kind: "silent" }>,
): Buffer {
  const head = Buffer.from(question);
  const addresses = answer.kind === "addresses" && type === "A" ? answer.ipv4 : [];
  head.writeUInt16BE(0x8180 | CODE[answer.kind], 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  const records = addresses.map((address) => {
    const record = Buffer.alloc(16);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(TYPE_A, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(answer.kind === "addresses" ? answer.ttlSeconds : 0, 6);
    record.writeUInt16BE(4, 10);
    address.split(".").forEach((byte, index) => record.writeUInt8(Number(byte), 12 + index));
    return record;
  });
  return Buffer.concat([head, ...records]);
}

import { createClient } from "@redis/client";
import { systemClock } from "../../src/adapters/clock.ts";
import { Redis } from "../../src/adapters/redis/connection.ts";
import { eventually } from "./eventually.ts";
import { RedisServer } from "./processes/redis-server.ts";
import { sampleFleet } from "./samples.ts";

const SILENT = { debug(): void {}, info(): void {}, warn(): void {}, error(): void {} };

/** Replicas' connections to a server of a test's own. */
export class TestFleet implements AsyncDisposable {
  readonly server: RedisServer;
  readonly #stack = new AsyncDisposableStack();

  private constructor(server: RedisServer) {
    this.server = this.#stack.use(server);
  }

  static async start(): Promise<TestFleet> {
    return new TestFleet(await RedisServer.start());
  }

  /** As a replica has it. */
  async connect(): Promise<Redis> {
    const fleet = sampleFleet({ redis: this.server.address });
    const redis = new Redis(fleet, {
      clock: systemClock,
      log: SILENT,
      onCall() {},
      withoutKeys: String,
      password: undefined,
    });
    this.#stack.use(redis);
    await eventually("Redis is connected", () => redis.isUp);
    return redis;
  }

  /** Any command, by a connection of its own. */
  async commands(): Promise<(...args: string[]) => Promise<unknown>> {
    const client = createClient({ RESP: 2, socket: { host: "127.0.0.1", port: this.server.port } });
    client.on("error", () => {});
    await client.connect();
    this.#stack.defer(() => client.destroy());
    return (...args) => client.sendCommand(args);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

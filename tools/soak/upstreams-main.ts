/**
 * The watched side of a soak, in a process of its own: several servers, the last of them with TLS. Each upstream is known
 * by its path. What it was asked is counted here as the head of a request is there, whatever then becomes of it.
 */

import { certificates } from "../../test/support/certificates.ts";
import { openRawUpstream, type RawConnection, type RawOptions } from "../../test/support/raw-upstream.ts";
import { scriptFor } from "./answers.ts";
import type { Told } from "./telling.ts";

const PLAIN_SERVERS = 4;
const STEP_MS = 1_000;

const requests = new Map<string, number>();

function nameIn(head: string): string {
  return /^GET \/([a-z]+\d+)\//.exec(head)?.[1] ?? "nobody";
}

const onRequest = (head: string): void => {
  const name = nameIn(head);
  requests.set(name, (requests.get(name) ?? 0) + 1);
};

async function serve(connection: RawConnection): Promise<void> {
  for (;;) {
    const head = await connection.request();
    if (head === undefined) return;
    const script = scriptFor(nameIn(head), Math.floor(Date.now() / STEP_MS));
    // The script asks for the request that was just read; what comes after it is ours again.
    await script({ ...connection, request: async () => head });
  }
}

/** TLS has no reset of its own. */
async function serveTls(connection: RawConnection): Promise<void> {
  await serve({ ...connection, reset: () => connection.socket.destroy() });
}

const options: RawOptions = { onRequest };
const { server } = certificates();
const tls = { cert: server.cert, key: server.key };
const plain = await Promise.all(Array.from({ length: PLAIN_SERVERS }, () => openRawUpstream(serve, options)));
const secure = await openRawUpstream(serveTls, { ...options, tls, host: "localhost" });

function tell(told: Told): void {
  process.send?.(told);
}

process.on("message", () => tell({ kind: "heard", requests: Object.fromEntries(requests) }));
process.on("disconnect", () => process.exit());
tell({
  kind: "address",
  http: plain.map(({ url }) => url),
  https: secure.url,
  caFile: certificates().ca.certFile,
});

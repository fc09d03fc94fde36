import { readFile } from "node:fs/promises";
import type { FleetRedis } from "../../core/config/config.ts";

export type RedisDriverParts = {
  /** Asked before every connection, as passwords rotate. */
  readonly password: (() => Promise<string>) | undefined;
};

type TlsOptions = {
  readonly tls?: true;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
};

export type RedisSocket = TlsOptions & {
  readonly connectTimeout: number;
  readonly reconnectStrategy: false;
};

export type RedisOptions = {
  readonly RESP: 2;
  readonly disableOfflineQueue: true;
  readonly disableClientInfo: true;
  readonly maintNotifications: "disabled";
  readonly username?: string;
  readonly password?: string;
  readonly database?: number;
  readonly socket: RedisSocket;
};

const CONNECT_WITHIN_MS = 2_000;

/** What every connection to it has in common. Files and the password are read anew. */
export async function optionsOf(
  { username, tls }: FleetRedis,
  { password }: RedisDriverParts,
): Promise<RedisOptions> {
  const secret = await password?.();
  return {
    RESP: 2,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: "disabled",
    ...(username === undefined ? {} : { username }),
    ...(secret === undefined ? {} : { password: secret }),
    socket: {
      connectTimeout: CONNECT_WITHIN_MS,
      reconnectStrategy: false,
      ...(tls === undefined ? {} : await tlsOf(tls)),
    },
  };
}

async function tlsOf(tls: NonNullable<FleetRedis["tls"]>): Promise<TlsOptions> {
  const read = async (path: string | undefined): Promise<string | undefined> =>
    path === undefined ? undefined : await readFile(path, "utf8");
  const [ca, cert, key] = await Promise.all([read(tls.caFile), read(tls.certFile), read(tls.keyFile)]);
  return {
    tls: true,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
  };
}

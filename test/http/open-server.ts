import { opened } from "../support/opened.ts";
import { onTestFinished } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { type RunningServer, type StartOptions, startServer } from "../../src/http/server/server.ts";
import type { RouteDeps } from "../../src/app/features/routes.ts";
import { sampleRoutesDeps } from "../support/samples.ts";

/** Of sample answers, on a port of its own until the test is finished. */
export async function openServer(over: Partial<StartOptions & RouteDeps> = {}): Promise<RunningServer> {
  const server = opened(
    await startServer({
      clock: systemClock,
      ...sampleRoutesDeps(over),
      host: "127.0.0.1",
      port: 0,
      webConfig: undefined,
      onWarning: () => {},
      onWebConfigChange: () => {},
      connectionsLeft: () => Infinity,
      ...over,
    }),
  );
  onTestFinished(() => server.close());
  return server;
}

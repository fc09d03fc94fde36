import { type Fleet, type FleetOptions, startFleet } from "./fleet.ts";

/** A fleet, and what its upstreams' owners allow. */
export type Scene = {
  readonly replicas: readonly string[];
  readonly ttlMs: number;
  /** Of every upstream, in whole seconds. */
  readonly periodMs: number;
  readonly windowMs: number;
  /** What each budget is allowed in a window, and who draws on it. */
  readonly budgets: Readonly<Record<string, SceneBudget>>;
  /** A request may be counted for so long after it was sent, and a replica that was killed is waited for. */
  readonly timeoutMs: number;
  readonly lingerMs: number;
  /** Whether each replica's metrics are read all the while. */
  readonly isScraped: boolean;
};

export type SceneBudget = {
  readonly requests: number;
  /** Where it is less than all, the next leader may wait for a pace gap alone. */
  readonly share?: string;
  readonly upstreams: readonly string[];
};

/** The witness answers within it: so that some requests are always on their way. */
const SLOWEST_MS = 150;

export async function openScene(scene: Scene, others: Partial<FleetOptions> = {}): Promise<Fleet> {
  const budgets = Object.entries(scene.budgets);
  return startFleet({
    replicas: scene.replicas,
    fleet: { ttl: `${scene.ttlMs}ms` },
    budgets: Object.fromEntries(
      budgets.map(([name, { requests, share = "100%" }]) => [
        name,
        {
          rate: { requests, per: `${scene.windowMs}ms` },
          share,
          linger: `${scene.lingerMs}ms`,
        },
      ]),
    ),
    upstreams: Object.fromEntries(budgets.map(([name, { upstreams }]) => [name, upstreams])),
    upstream: { every: `${scene.periodMs / 1_000}s`, timeout: `${scene.timeoutMs}ms`, confirm: 0 },
    slowestMs: SLOWEST_MS,
    isScraped: scene.isScraped,
    ...others,
  });
}

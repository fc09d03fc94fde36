import type { HttpBindings } from "@hono/node-server";
import type { MiddlewareHandler } from "hono";

/** Behind a socket a request brings node's own objects; in a test without one, nothing at all. */
export type DoorEnv = { Bindings: Partial<HttpBindings> };

/** What a request passes before it reaches a route: it calls `next`, or answers itself. */
export type Guard = MiddlewareHandler<DoorEnv>;

/** Exempt from basic auth and from the host check: an orchestrator's probe has no password and asks by address. */
export const PROBE_PATHS: ReadonlySet<string> = new Set(["/-/healthy", "/-/ready"]);

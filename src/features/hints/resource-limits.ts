import type { Advice } from "./fields/advice.ts";
import { narrowed, onlyResourceOf } from "./fields/resource.ts";
import type { Upstream } from "../../kernel/config/config.ts";

type Polled = { readonly upstream: Upstream; pause(forMs: number): void };

/**
 * Remembers what the limits that each upstream last spoke of are about. A spent limit of one resource pauses whoever
 * draws on it, and whoever has not said on what it draws. Where it cannot be told, the whole budget waits.
 */
export class ResourceLimits {
  readonly #polled = new Map<string, Polled>();
  readonly #resources = new Map<string, string>();

  join(polled: Polled): void {
    this.#polled.set(polled.upstream.name, polled);
  }

  leave({ upstream: { name } }: Polled): void {
    this.#polled.delete(name);
    this.#resources.delete(name);
  }

  /** Returns what of an answer holds for all of its budgets, and pauses the others that are concerned by the rest. */
  share({ name, budgets }: Upstream, advice: Advice): Advice {
    const resource = onlyResourceOf(advice);
    if (resource === undefined) {
      if (advice.families.length > 0) this.#resources.delete(name);
      return advice;
    }
    // A poll that was in flight when its upstream left is judged too.
    if (this.#polled.has(name)) this.#resources.set(name, resource);
    const others = [...this.#polled.values()].filter(
      ({ upstream }) => upstream.name !== name && upstream.budgets.some((budget) => budgets.includes(budget)),
    );
    const isConcerned = ({ upstream }: Polled): boolean =>
      (this.#resources.get(upstream.name) ?? resource) === resource;
    if (others.every(isConcerned)) return advice;
    const own = narrowed(advice);
    const { pause } = own;
    if (pause?.scope === "upstream" && advice.pause?.scope === "budget") {
      for (const other of others.filter(isConcerned)) other.pause(pause.forMs);
    }
    return own;
  }
}

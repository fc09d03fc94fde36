import { setTimeout as sleep } from "node:timers/promises";
import { ask } from "../../test/support/http-ask.ts";

/** What a Prometheus and a person with a browser do meanwhile. */
const PATHS = ["/metrics", "/", "/upstreams/plain30", "/api/v1/upstreams", "/-/healthy"] as const;

export type Visits = { readonly answered: number; readonly refused: readonly string[] };

/** One path after the other, until the signal comes. */
export async function visit(url: string, everyMs: number, signal: AbortSignal): Promise<Visits> {
  const refused: string[] = [];
  let answered = 0;
  for (let turn = 0; !signal.aborted; turn += 1) {
    const path = PATHS[turn % PATHS.length] ?? "/";
    const { status } = await ask(`${url}${path}`);
    if (status === 200) answered += 1;
    else refused.push(`${path} was answered with ${status}`);
    await sleep(everyMs, undefined, { signal }).catch(() => {});
  }
  return { answered, refused };
}

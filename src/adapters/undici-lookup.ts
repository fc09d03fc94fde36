import { type LookupAddress, lookup as systemLookup } from "node:dns";
import type { LookupFunction } from "node:net";

export type SystemLookup = (hostname: string, options: { readonly all: true }, callback: Answer) => void;

type Answer = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/**
 * The system's resolver holds one of a few threads until it answers, and cannot be called off. A poll that gave up
 * leaves its question behind, so the next poll joins it: one upstream never holds more than one thread.
 */
export function shareLookups(ask: SystemLookup = systemLookup): LookupFunction {
  const waiting = new Map<string, Answer[]>();

  function join(hostname: string, answer: Answer): void {
    const others = waiting.get(hostname);
    if (others !== undefined) {
      others.push(answer);
      return;
    }
    waiting.set(hostname, [answer]);
    ask(hostname, { all: true }, (error, addresses) => {
      const answers = waiting.get(hostname) ?? [];
      waiting.delete(hostname);
      for (const one of answers) one(error, addresses);
    });
  }

  return (hostname, options, callback) => {
    join(hostname, (error, addresses) => {
      const [first] = addresses ?? [];
      if (options.all === true) callback(error, addresses ?? []);
      else callback(error, first?.address ?? "", first?.family);
    });
  };
}

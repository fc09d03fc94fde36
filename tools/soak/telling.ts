import type { ChildProcess } from "node:child_process";

/** What a process of the soak tells when it is asked, over the channel between parent and child. */
export type Told =
  | { readonly kind: "heap" | "resources"; readonly count: number }
  | {
      readonly kind: "address";
      readonly http: readonly string[];
      readonly https: string;
      readonly caFile: string;
    }
  | { readonly kind: "heard"; readonly requests: Readonly<Record<string, number>> };

export type Telling<Kind extends Told["kind"]> = Told & { readonly kind: Kind };

/** Asks for it by its name. One question at a time. */
export async function askChild<Kind extends Told["kind"]>(
  child: ChildProcess,
  kind: Kind,
): Promise<Telling<Kind>> {
  const answered = toldBy(child, kind);
  child.send(kind);
  return await answered;
}

/** The next telling of that kind; rejects where the process goes first. */
export function toldBy<Kind extends Told["kind"]>(child: ChildProcess, kind: Kind): Promise<Telling<Kind>> {
  return new Promise((resolve, reject) => {
    const onGone = (): void => reject(new Error(`cannot learn "${kind}": the process has ended`));
    const onMessage = (message: unknown): void => {
      if (!isTelling(message, kind)) return;
      child.off("message", onMessage).off("exit", onGone);
      resolve(message);
    };
    child.on("message", onMessage).once("exit", onGone);
    if (!child.connected) onGone();
  });
}

function isTelling<Kind extends Told["kind"]>(message: unknown, kind: Kind): message is Telling<Kind> {
  return typeof message === "object" && message !== null && "kind" in message && message.kind === kind;
}

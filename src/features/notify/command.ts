import { systemClock } from "../../platform/clock.ts";
import { NameResolver } from "../../transport/dns/name-resolver.ts";
import { KnownKeys } from "../../transport/secrets/known-keys.ts";
import { dryRequest, send } from "./notify.ts";
import type { Member, Message } from "./plan/message.ts";
import type { Config } from "../../kernel/config/config.ts";
import { type CommandIo, loadOrRefuse } from "../../config/command-line.ts";

export type NotifyOptions = CommandIo & {
  /** Undefined for all receivers. */
  readonly name: string | undefined;
  /** Prints the requests, and sends none. */
  readonly isDry: boolean;
  readonly wallNowMs: number;
  readonly pageUrlOf: (config: Config) => string | undefined;
  readonly userAgent: string;
};

/** Sends a sample to the receivers of the config, and says what came back. Returns the exit code. */
export async function notify(options: NotifyOptions): Promise<number> {
  const { name, isDry, wallNowMs, environment, userAgent, out, err } = options;
  const loaded = await loadOrRefuse(options, isDry ? "structure" : "everything");
  if (loaded === undefined) return 1;
  const { notify: all = [], denyAddresses } = loaded.config;
  const pageUrl = options.pageUrlOf(loaded.config);
  const receivers = all.filter((receiver) => name === undefined || receiver.name === name);
  if (receivers.length === 0) {
    const known = all.map((receiver) => receiver.name).join(", ");
    err(
      all.length === 0
        ? "the config has no notify\n"
        : `notify has no receiver "${name}": there are ${known}\n`,
    );
    return 1;
  }
  const clock = systemClock;
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const names = new NameResolver({ clock });
  const parts = { clock, environment, keys: new KnownKeys([]), names, userAgent, log };
  let code = 0;
  for (const receiver of receivers) {
    for (const message of samples(wallNowMs, pageUrl)) {
      if (isDry) {
        out(dryRequest(receiver, message));
        continue;
      }
      const { kind, detail } = await send(receiver, message, { ...parts, denyAddresses });
      out(`${receiver.name}: ${message.event} ${kind}: ${detail}\n`);
      if (kind !== "delivered") code = 1;
    }
  }
  return code;
}

/** What opens something is closed by the second. */
function samples(atMs: number, pageUrl: string | undefined): readonly Message[] {
  const incident = `pacewatch/test/${atMs.toString(36)}`;
  const title = "A test of Pacewatch";
  const member: Omit<Member, "untilMs"> = {
    incident,
    subject: "pacewatch/test",
    upstream: undefined,
    kind: "down",
    labels: {},
    title,
    sinceMs: atMs,
  };
  const down: Message = {
    event: "down",
    incident,
    isOver: false,
    isReminder: false,
    atMs,
    sinceMs: atMs,
    untilMs: undefined,
    members: [{ ...member, untilMs: undefined }],
    of: 0,
    side: "nobody",
    title,
    lines: ["Nothing is down. Somebody ran: pacewatch notify --test"],
    link: pageUrl && `${pageUrl}/`,
  };
  const up = { event: "up", isOver: true, untilMs: atMs, title: `${title} is over` } as const;
  return [down, { ...down, ...up, members: [{ ...member, untilMs: atMs }] }];
}

import { basicIn } from "../../transport/proxy.ts";
import { ENDS_SOON_MS } from "../history/credit.ts";
import { type Config, DEFAULT_TLS, type Upstream } from "../../kernel/config/config.ts";
import type { Receiver } from "./receiver.ts";
import type { History } from "../history/history.ts";
import { lostAtMs, type StateStore } from "../history/state.ts";
import type { FiringAlert } from "./plan/alert.ts";
import { rememberedIn } from "./plan/transitions.ts";
import type { ReloadStatus, Status } from "../status/status.ts";
import { type Message, wordsOf } from "./plan/message.ts";
import type { Health } from "../../kernel/poll/health.ts";
import type { Left, Note } from "../../kernel/text/notes.ts";
import { messageOf } from "../../kernel/text/escape.ts";
import { DAY_MS, MINUTE_MS } from "../../kernel/time/duration.ts";
import { counted } from "../../kernel/exchange/json-value.ts";
import { Notifier, type NotifierView } from "./notifier.ts";
import { type Delivery, deliveryOf } from "./receivers/answer.ts";
import type { ReceiverRequest } from "./receivers/kind.ts";
import { KINDS } from "./receivers/kinds.ts";
import { openTransport, type TransportParts } from "../../transport/open.ts";
import { openKey } from "../../transport/secrets/keys.ts";
import { SMALL_BODY_BYTES } from "../../kernel/exchange/exchange.ts";

const ANSWERS_WITHIN_MS = 10_000;

export type SendingParts = TransportParts & {
  readonly denyAddresses: Config["denyAddresses"];
  readonly answersWithinMs?: number;
};

/** Sends one message to one receiver. Its URL and key are read each time, as they may be changed. Never rejects. */
export async function send(receiver: Receiver, message: Message, parts: SendingParts): Promise<Delivery> {
  const { kind } = receiver;
  try {
    const url = (await secretOf("url", receiver, parts)) ?? KINDS[kind].url ?? "";
    const key = await secretOf("key", receiver, parts);
    const request = KINDS[kind].request(message, { receiver, url, key });
    if (request === undefined) return { kind: "delivered", detail: "it need not be told" };
    const target = new URL(url);
    const { authorization, secrets } = basicIn(target);
    const headers = { ...(authorization && { Authorization: authorization }), ...request.headers };
    const { pathname, search } = target;
    return await post(receiver, { ...request, headers }, [pathname + search, key ?? "", ...secrets], parts);
  } catch (error) {
    return { kind: "failed", detail: parts.keys.hide(messageOf(error)), waitMs: undefined };
  }
}

/** The request as text, with a name in place of each secret. */
export function dryRequest(receiver: Receiver, message: Message): string {
  const kind = KINDS[receiver.kind];
  const url = (receiver.url === undefined ? kind.url : undefined) ?? "https://hidden/hidden";
  const request = kind.request(message, { receiver, url, key: receiver.key && "<key>" });
  if (request === undefined) return `${receiver.name}: ${message.event} need not be told\n`;
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\n`);
  const shownUrl = request.url.replace(/^https:\/\/hidden\/(hidden)?/, "<url>");
  return `${receiver.name}: POST ${shownUrl}\nContent-Type: application/json\n${headers.join("")}\n${request.body}\n\n`;
}

async function secretOf(
  part: "url" | "key",
  { name, [part]: source }: Receiver,
  parts: SendingParts,
): Promise<string | undefined> {
  if (source === undefined) return undefined;
  const opened = await openKey(source, `receiver ${name} ${part}`, { receiver: name }, parts);
  if (opened.kind === "refused") throw new Error(opened.faults.join("; "));
  return opened.what();
}

async function post(
  { name, kind }: Receiver,
  { url, headers, body }: ReceiverRequest,
  secrets: readonly string[],
  parts: SendingParts,
): Promise<Delivery> {
  const { clock, denyAddresses, answersWithinMs = ANSWERS_WITHIN_MS } = parts;
  const opened = await openTransport(parts, {
    fields: { receiver: name },
    upstream: {
      name,
      url,
      method: "POST",
      auth: { kind: "none" },
      headers,
      payload: { type: "application/json", bytes: new TextEncoder().encode(body) },
      timeoutMs: answersWithinMs,
      connection: "fresh",
      proxy: "env",
      tls: DEFAULT_TLS,
      expect: { maxBodyBytes: SMALL_BODY_BYTES },
      denyAddresses,
    },
    secrets,
    credential: undefined,
  });
  if (opened.kind === "refused") throw new Error(opened.faults.join("; "));
  const probe = opened.what;
  try {
    const observation = await probe.poll(new AbortController().signal);
    return deliveryOf(observation, KINDS[kind], clock.wallNow());
  } finally {
    await probe.close();
  }
}

/** What ends a little later than soon goes on, and does not begin. */
const NEAR_MS = ENDS_SOON_MS + DAY_MS;
/** It changes over hours, of thousands of upstreams. */
const ENDINGS_EVERY_MS = MINUTE_MS;
const NOT_LEADING: Delivery = {
  kind: "failed",
  detail: "another process may lead now",
  waitMs: undefined,
};

/** What one upstream is to be warned of, by what is remembered of its answers. */
export type Forecast = (history: History) => Omit<FiringAlert, "upstream"> | undefined;

/** What runs beside it. */
type Watched = {
  healthOf(upstream: string): Pick<Health, "state">;
  /** It failed, and the failure may be our own network's. */
  isUnsure(upstream: string): boolean;
  recordOf(upstream: string): { readonly history: History } | undefined;
  offlineUpstreams(nowMs: number): number;
};

export type NotifyParts = TransportParts & {
  readonly kept: readonly Left[];
  readonly keep: (note: Note) => void;
  readonly forecasts: readonly Forecast[];
  /** Of the page for people, without a slash at its end. */
  readonly pageUrlOf: (config: Config) => string | undefined;
  /** Where several processes share the receivers, only the one that leads may send. */
  readonly maySend: () => boolean;
  readonly onBug: (error: unknown) => void;
  /** These are asked once it is started. */
  readonly polling: () => Watched;
  readonly reload: { readonly config: Config; readonly status: ReloadStatus };
  readonly store: Pick<StateStore, "lostAtMs"> | undefined;
  readonly status: () => Status;
};

/** Tells the receivers of the config what this process knows. */
export function openNotifier(config: Config, parts: NotifyParts): Notifier {
  const { clock, kept, maySend, reload } = parts;
  let endings: readonly FiringAlert[] = [];
  let endingsAtMs = Number.NEGATIVE_INFINITY;
  const firing = (): readonly FiringAlert[] => {
    if (clock.now() - endingsAtMs >= ENDINGS_EVERY_MS) {
      endings = [...endingsNow(parts)];
      endingsAtMs = clock.now();
    }
    return [...ofProcess(parts), ...endings];
  };
  return new Notifier(config, {
    ...parts,
    random: Math.random,
    send: async (receiver, message) =>
      maySend()
        ? send(receiver, message, { ...parts, denyAddresses: reload.config.denyAddresses })
        : NOT_LEADING,
    before: rememberedIn(kept),
    view: () => ({ ...viewOf(parts), firing }),
  });
}

function viewOf({ reload, status, pageUrlOf, ...parts }: NotifyParts): Omit<NotifierView, "firing"> {
  const { config } = reload;
  const polling = parts.polling();
  // There are thousands, and while all is well none is asked for.
  let labels: ReadonlyMap<string, Upstream["labels"]> | undefined;
  return {
    upstream: (name) => {
      labels ??= new Map(config.upstreams.map((upstream) => [upstream.name, upstream.labels]));
      const own = labels.get(name);
      return own && { labels: own, state: polling.healthOf(name).state, isUnsure: polling.isUnsure(name) };
    },
    incidentsOf: (name) => polling.recordOf(name)?.history.incidents ?? [],
    words: (name) => {
      const now = status();
      const facts = now.facts(name);
      return facts && wordsOf(facts, now);
    },
    of: config.upstreams.length,
    pageUrl: pageUrlOf(config),
    vantage: config.vantage?.name,
  };
}

/** What will end soon. What ends of a budget is told once. */
function* endingsNow({ reload, forecasts, ...parts }: NotifyParts): Generator<FiringAlert> {
  const polling = parts.polling();
  const status = parts.status();
  const seen = new Set<string>();
  for (const { name: upstream, budgets } of reload.config.upstreams) {
    const history = polling.recordOf(upstream)?.history;
    for (const forecast of forecasts) {
      const firing = history && forecast(history);
      if (firing !== undefined) yield { ...firing, upstream };
    }
    for (const { name: of, sentence, atMs } of status.endingsIn(status.shown(upstream)))
      yield* endingOf(atMs, status.nowMs, { upstream, of, says: `${of}: ${sentence}` });
    for (const budget of budgets.filter((each) => !seen.has(each))) {
      seen.add(budget);
      for (const { name: quota, sentence, atMs } of status.endingsIn(status.budget(budget) ?? {})) {
        const says = `Budget ${budget}, ${quota}: ${sentence}`;
        yield* endingOf(atMs, status.nowMs, { of: `${budget}/${quota}`, says });
      }
    }
  }
}

function endingOf(
  emptyAtMs: number | undefined,
  nowMs: number,
  what: Pick<FiringAlert, "upstream" | "of" | "says">,
): readonly FiringAlert[] {
  if (emptyAtMs === undefined || emptyAtMs - nowMs > NEAR_MS) return [];
  return [{ kind: "credit_ending", ...what, isNear: emptyAtMs - nowMs > ENDS_SOON_MS }];
}

/** What is wrong with this process itself. */
function* ofProcess({ clock, polling, reload, store }: NotifyParts): Generator<FiringAlert> {
  const offline = polling().offlineUpstreams(clock.wallNow());
  if (offline > 0) {
    const says = `${counted(offline, "upstream")} could not be reached: none of them counts as down for it.`;
    yield { kind: "offline", says };
  }
  const { successful, fault = "" } = reload.status;
  if (!successful) {
    const says = `The config before it runs on. The log has the faults. ${fault && `The first: ${fault}`}`;
    yield { kind: "config_refused", says };
  }
  const sinceMs = lostAtMs(store, clock.wallNow());
  if (sinceMs !== undefined) {
    const says = "It was damaged, and moved aside with the history in it. The log tells where to.";
    yield { kind: "state_lost", says, sinceMs };
  }
}

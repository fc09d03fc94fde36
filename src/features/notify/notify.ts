import { basicIn } from "../../transport/proxy.ts";
import { ENDS_SOON_MS } from "../history/credit.ts";
import { type Config, DEFAULT_TLS } from "../../kernel/config/config.ts";
import type { Receiver } from "./receiver.ts";
import { SMALL_BODY_BYTES } from "../../kernel/exchange/bounds.ts";
import type { History } from "../history/history.ts";
import { lostAtMs, type StateStore } from "../history/state.ts";
import type { Condition } from "./plan/alert.ts";
import type { Remembered } from "./plan/transitions.ts";
import type { Status } from "../status/status.ts";
import { type Message, wordsOf } from "./plan/message.ts";
import type { Note } from "../../kernel/text/notes.ts";
import { messageOf } from "../../kernel/text/escape.ts";
import { DAY_MS, MINUTE_MS } from "../../kernel/time/duration.ts";
import { Notifier, type NotifierView } from "./notifier.ts";
import { type Delivery, deliveryOf } from "./receivers/answer.ts";
import type { ReceiverRequest } from "./receivers/kind.ts";
import { KINDS } from "./receivers/kinds.ts";
import type { AppPolling } from "../../app/polling.ts";
import { openKey, openTransport, type TransportParts } from "../../app/probes.ts";
import type { ViewSources } from "../../app/views.ts";

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
const CONDITIONS_EVERY_MS = MINUTE_MS;
const NOT_LEADING: Delivery = {
  kind: "failed",
  detail: "another process may lead now",
  waitMs: undefined,
};

/** What one upstream is to be warned of, by what is remembered of its answers. */
export type Forecast = (history: History) => Omit<Condition, "upstream"> | undefined;

export type NotifyParts = TransportParts & {
  readonly keep: (note: Note) => void;
  readonly before: Remembered;
  readonly forecasts: readonly Forecast[];
  /** Where several processes share the receivers, only the one that leads may send. */
  readonly maySend: () => boolean;
  readonly onBug: (error: unknown) => void;
};

export type NotifySources = Pick<ViewSources, "reload"> & {
  readonly polling: AppPolling;
  readonly store: StateStore | undefined;
  readonly status: () => Status;
};

/** Tells the receivers of the config what this process knows. */
export class AppNotify {
  readonly notifier: Notifier;
  readonly #parts: NotifyParts;
  #config: Config;
  #upstreams: ReadonlyMap<string, Config["upstreams"][number]>;
  #sources: NotifySources | undefined;
  #conditions: { readonly atMs: number; readonly all: ReadonlyMap<string, readonly Condition[]> } | undefined;

  constructor(config: Config, parts: NotifyParts) {
    const { clock, log, keep, before, maySend, onBug } = parts;
    this.#parts = parts;
    this.#config = config;
    this.#upstreams = upstreamsOf(config);
    this.notifier = new Notifier(config.notify ?? [], {
      clock,
      log,
      onBug,
      random: Math.random,
      send: async (receiver, message) =>
        maySend()
          ? send(receiver, message, { ...parts, denyAddresses: this.#config.denyAddresses })
          : NOT_LEADING,
      keep,
      before,
      view: () => this.#view(),
    });
  }

  /** Once all that it tells of is there. */
  start(sources: NotifySources): void {
    this.#sources = sources;
    this.notifier.start();
  }

  changed(config: Config): void {
    this.#config = config;
    this.#upstreams = upstreamsOf(config);
    this.notifier.change(config.notify ?? []);
  }

  #view(): NotifierView {
    const sources = this.#sources;
    if (sources === undefined) throw new Error("asked before the start");
    const { polling, status } = sources;
    return {
      upstream: (name) => {
        const labels = this.#upstreams.get(name)?.labels;
        return labels && { labels, state: polling.healthOf(name).state, isUnsure: polling.isUnsure(name) };
      },
      incidentsOf: (name) => polling.recordOf(name)?.history.incidents ?? [],
      conditions: () => [...this.#ofProcess(sources), ...[...this.#slowly(sources).values()].flat()],
      words: (name) => {
        const now = status();
        const facts = now.facts(name);
        return facts && wordsOf(facts, now);
      },
      of: this.#upstreams.size,
      pageUrl: pageUrlOf(this.#config),
      vantage: this.#config.vantage?.name,
    };
  }

  #slowly(sources: NotifySources): ReadonlyMap<string, readonly Condition[]> {
    const nowMs = this.#parts.clock.now();
    if (this.#conditions === undefined || nowMs - this.#conditions.atMs >= CONDITIONS_EVERY_MS)
      this.#conditions = { atMs: nowMs, all: this.#slow(sources) };
    return this.#conditions.all;
  }

  /** What changes over hours, of thousands of upstreams. Those of a budget are under its first upstream. */
  #slow(sources: NotifySources): ReadonlyMap<string, readonly Condition[]> {
    const status = sources.status();
    const seen = new Set<string>();
    const all = new Map<string, readonly Condition[]>();
    for (const upstream of this.#config.upstreams) {
      const { name } = upstream;
      const conditions: Condition[] = [];
      const history = sources.polling.recordOf(name)?.history;
      for (const forecast of this.#parts.forecasts) {
        const condition = history && forecast(history);
        if (condition !== undefined) conditions.push({ ...condition, upstream: name });
      }
      for (const { name: of, credit } of (upstream.values && status.facts(name)?.values) ?? []) {
        if (credit === undefined) continue;
        const says = `${of}: ${credit.sentence}`;
        conditions.push(...endingOf(credit.emptyAtMs, status.nowMs, { upstream: name, of, says }));
      }
      for (const budget of upstream.budgets.filter((each) => !seen.has(each))) {
        seen.add(budget);
        for (const { quota, emptyAtMs, sentence } of status.budget(budget)?.quotas ?? []) {
          const says = `Budget ${budget}, ${quota}: ${sentence}`;
          conditions.push(...endingOf(emptyAtMs, status.nowMs, { of: `${budget}/${quota}`, says }));
        }
      }
      if (conditions.length > 0) all.set(name, conditions);
    }
    return all;
  }

  /** What is wrong with this process itself. */
  #ofProcess({ polling, reload, store }: NotifySources): readonly Condition[] {
    const { clock } = this.#parts;
    const conditions: Condition[] = [];
    const offline = polling.offlineUpstreams(clock.wallNow());
    if (offline > 0) {
      const says = `${offline} upstreams could not be reached: none of them counts as down for it.`;
      conditions.push({ kind: "offline", says });
    }
    const { successful, fault = "" } = reload.status;
    if (!successful) {
      const says = `The config before it runs on. The log has the faults. ${fault && `The first: ${fault}`}`;
      conditions.push({ kind: "config_refused", says });
    }
    const sinceMs = lostAtMs(store, clock.wallNow());
    if (sinceMs !== undefined) {
      const says = "It was damaged, and moved aside with the history in it. The log tells where to.";
      conditions.push({ kind: "state_lost", says, sinceMs });
    }
    return conditions;
  }
}

/** Of the page for people, without a slash at its end. */
export function pageUrlOf({ web, fleet }: Pick<Config, "web" | "fleet">): string | undefined {
  return (web.pageUrl ?? fleet?.advertise)?.replace(/\/+$/, "");
}

function upstreamsOf({ upstreams }: Config): ReadonlyMap<string, Config["upstreams"][number]> {
  return new Map(upstreams.map((upstream) => [upstream.name, upstream]));
}

function endingOf(
  emptyAtMs: number | undefined,
  nowMs: number,
  what: Pick<Condition, "upstream" | "of" | "says">,
): readonly Condition[] {
  if (emptyAtMs === undefined || emptyAtMs - nowMs > NEAR_MS) return [];
  return [{ kind: "credit_ending", ...what, isNear: emptyAtMs - nowMs > ENDS_SOON_MS }];
}

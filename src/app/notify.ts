import { openProbe } from "../adapters/undici/probe.ts";
import { openSecret } from "../config/read/secrets.ts";
import { type Config, DEFAULT_TLS, type Receiver, type SecretSource } from "../core/config/config.ts";
import { SMALL_BODY_BYTES } from "../core/exchange/bounds.ts";
import type { StateStore } from "../core/history/state.ts";
import { NOTHING_STANDING } from "../core/history/state.ts";
import type { Message } from "../core/notify/message.ts";
import type { SceneUpstream } from "../core/notify/plan.ts";
import type { Condition } from "../core/notify/trouble.ts";
import { messageOf } from "../core/text/escape.ts";
import { dateTime } from "../core/time/civil-day.ts";
import { DAY_MS, MINUTE_MS } from "../core/time/duration.ts";
import { Notifier, type NotifierView } from "../engine/notify/notifier.ts";
import { type Delivery, deliveryOf } from "../engine/receivers/answer.ts";
import type { ReceiverRequest } from "../engine/receivers/kind.ts";
import { KINDS } from "../engine/receivers/kinds.ts";
import { USER_AGENT } from "../version.ts";
import type { AppPolling } from "./polling.ts";
import type { TransportParts } from "./probes.ts";
import { lostAtMs, statusView, type ViewSources } from "./views.ts";

const ANSWERS_WITHIN_MS = 10_000;

export type SendingParts = TransportParts & {
  readonly denyAddresses: Config["denyAddresses"];
  readonly answersWithinMs?: number;
};

/** Sends one message to one receiver. Its URL and key are read each time, as they may be changed. Never rejects. */
export async function send(receiver: Receiver, message: Message, parts: SendingParts): Promise<Delivery> {
  const { kind, name, url, key } = receiver;
  try {
    const [readUrl, readKey] = [
      await secretOf(url, `receiver ${name} url`, parts),
      await secretOf(key, `receiver ${name} key`, parts),
    ];
    const target = { receiver, url: readUrl ?? KINDS[kind].url ?? "", key: readKey };
    const request = KINDS[kind].request(message, target);
    if (request === undefined) return { kind: "delivered", detail: "it need not be told" };
    const { pathname, search } = new URL(target.url);
    return await post(receiver, request, [pathname + search, readKey ?? ""], parts);
  } catch (error) {
    return { kind: "failed", detail: parts.keys.hide(messageOf(error)), waitMs: undefined };
  }
}

/** The request as text, without a secret in it: of its URL nothing but the host is known here, if that. */
export function dryRequest(receiver: Receiver, message: Message): string {
  const kind = KINDS[receiver.kind];
  const url = kind.url ?? `https://${HIDDEN}/${HIDDEN}`;
  const request = kind.request(message, { receiver, url, key: receiver.key && HIDDEN });
  if (request === undefined) return `${receiver.name}: ${message.event} need not be told\n`;
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\n`);
  return `${receiver.name}: POST ${request.url}\nContent-Type: application/json\n${headers.join("")}\n${request.body}\n\n`;
}

const HIDDEN = "hidden";

async function secretOf(
  source: SecretSource | undefined,
  owner: string,
  { environment, keys }: SendingParts,
): Promise<string | undefined> {
  if (source === undefined) return undefined;
  const opened = await openSecret(source, environment, () => {});
  if (opened.kind === "refused") throw new Error(opened.faults.join("; "));
  const secret = await opened.what.read();
  keys.learn(owner, secret);
  return secret;
}

async function post(
  { name, kind }: Receiver,
  { url, headers, body }: ReceiverRequest,
  secrets: readonly string[],
  { clock, environment, names, log, denyAddresses, answersWithinMs = ANSWERS_WITHIN_MS }: SendingParts,
): Promise<Delivery> {
  const opened = await openProbe({
    upstream: {
      name,
      url,
      method: "POST",
      auth: { kind: "none" },
      headers,
      payload: { type: "application/json", bytes: new TextEncoder().encode(body) },
      timeoutMs: answersWithinMs,
      connection: "fresh",
      proxy: { kind: "env" },
      tls: DEFAULT_TLS,
      expect: { maxBodyBytes: SMALL_BODY_BYTES },
      denyAddresses,
    },
    secrets,
    credential: undefined,
    userAgent: USER_AGENT,
    clock,
    environment,
    names,
    onWarning: (message) => log.warn({ receiver: name }, message),
  });
  if (opened.kind === "refused") throw new Error(opened.faults.join("; "));
  const probe = opened.what;
  try {
    const { exchange } = await probe.poll(new AbortController().signal);
    return deliveryOf(exchange, KINDS[kind], clock.wallNow());
  } finally {
    await probe.close();
  }
}

/** An empty credit within this time is told; what is a little further away goes on. */
const ENDING_MS = 3 * DAY_MS;
const NEAR_MS = 4 * DAY_MS;
const CONDITIONS_EVERY_MS = MINUTE_MS;

export type NotifyParts = TransportParts & {
  readonly store: StateStore | undefined;
  readonly onBug: (error: unknown) => void;
};

/** Tells the receivers of the config what this process knows. */
export class AppNotify {
  readonly notifier: Notifier;
  readonly #parts: NotifyParts;
  #config: Config;
  #upstreams: ReadonlyMap<string, Config["upstreams"][number]>;
  #sources: ViewSources | undefined;
  #isUnsure: AppPolling["isUnsure"] = () => false;
  #conditions: { readonly atMs: number; readonly all: readonly Condition[] } | undefined;

  constructor(config: Config, parts: NotifyParts) {
    const { clock, log, store, onBug } = parts;
    this.#parts = parts;
    this.#config = config;
    this.#upstreams = upstreamsOf(config);
    this.notifier = new Notifier(config.notify ?? [], {
      clock,
      log,
      onBug,
      random: Math.random,
      send: (receiver, message) =>
        send(receiver, message, { ...parts, denyAddresses: this.#config.denyAddresses }),
      keep: (notice) => store?.keepNotice(notice),
      keepSince: (receiver, sinceMs) => store?.keepReceiver(receiver, sinceMs),
      before: (store?.standing ?? NOTHING_STANDING).told,
      view: () => this.#view(),
    });
  }

  /** Once all that it tells of is there. */
  start(sources: ViewSources, isUnsure: AppPolling["isUnsure"]): void {
    this.#sources = sources;
    this.#isUnsure = isUnsure;
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
    const { web, fleet } = this.#config;
    const { polling } = sources;
    return {
      upstream: (name) => this.#upstream(name, sources),
      incidentsOf: (name) => polling.recordOf(name)?.history.incidents,
      conditions: () => this.#conditionsIn(sources),
      status: () => statusView(sources),
      pageUrl: (fleet?.advertise ?? web.pageUrl)?.replace(/\/+$/, ""),
      toldByOthersAfterMs: sources.fleet?.toldByOthersAfterMs,
    };
  }

  #upstream(name: string, { polling }: ViewSources): SceneUpstream | undefined {
    const upstream = this.#upstreams.get(name);
    if (upstream === undefined) return undefined;
    return {
      state: polling.healthOf(name).state,
      labels: upstream.labels,
      isElsewhere: polling.recordOf(name) === undefined,
      isUnsure: this.#isUnsure(name),
    };
  }

  #conditionsIn(sources: ViewSources): readonly Condition[] {
    const nowMs = this.#parts.clock.now();
    if (this.#conditions === undefined || nowMs - this.#conditions.atMs >= CONDITIONS_EVERY_MS)
      this.#conditions = { atMs: nowMs, all: this.#slow(sources) };
    return [...ofProcess(sources), ...this.#conditions.all];
  }

  /** What changes over hours, of thousands of upstreams. */
  #slow(sources: ViewSources): readonly Condition[] {
    const status = statusView(sources);
    const conditions: Condition[] = [];
    for (const upstream of this.#config.upstreams) {
      const record = sources.polling.recordOf(upstream.name);
      const { announcement } = record?.history ?? {};
      if (announcement !== undefined) {
        const { sunsetAtMs, warning } = announcement;
        const when = sunsetAtMs === undefined ? "at no date that it tells" : `on ${dateTime(sunsetAtMs)}`;
        const says = warning === undefined ? `It ends ${when}.` : `It ends ${when}. They say: ${warning}`;
        const of = String(sunsetAtMs ?? "undated");
        conditions.push({ kind: "api_ending", upstream: upstream.name, of, says });
      }
      for (const { name: of, credit } of (upstream.values && status.facts(upstream.name)?.values) ?? []) {
        if (credit === undefined) continue;
        const says = `${of}: ${credit.sentence}`;
        conditions.push(...endingOf(credit.emptyAtMs, status.nowMs, { upstream: upstream.name, of, says }));
      }
    }
    for (const { name } of this.#config.budgets)
      for (const { quota, emptyAtMs, sentence } of status.budget(name)?.quotas ?? []) {
        const says = `Budget ${name}, ${quota}: ${sentence}`;
        conditions.push(...endingOf(emptyAtMs, status.nowMs, { of: `${name}/${quota}`, says }));
      }
    return conditions;
  }
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
  const isNear = emptyAtMs - nowMs > ENDING_MS;
  return [{ kind: "credit_ending", ...what, ...(isNear && { isNear }) }];
}

/** What is wrong with this process itself. */
function ofProcess(sources: ViewSources): readonly Condition[] {
  const { polling, reload, clock } = sources;
  const conditions: Condition[] = [];
  const offline = polling.offlineUpstreams(clock.wallNow());
  if (offline > 0) {
    const says = `${offline} upstreams could not be reached: none of them counts as down for it.`;
    conditions.push({ kind: "offline", says });
  }
  if (!reload.status.successful)
    conditions.push({
      kind: "config_refused",
      says: "The config before it runs on. The log has the faults.",
    });
  const sinceMs = lostAtMs(sources);
  if (sinceMs !== undefined) {
    const says = "It was damaged, and moved aside with the history in it. The log tells where to.";
    conditions.push({ kind: "state_lost", says, sinceMs });
  }
  return conditions;
}

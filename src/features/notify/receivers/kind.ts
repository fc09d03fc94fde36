import type { Receiver } from "../receiver.ts";
import type { Message } from "../plan/message.ts";

/** Where a message goes. Both texts are secret. */
export type Target = {
  readonly receiver: Receiver;
  readonly url: string;
  /** Undefined where the config has none. */
  readonly key: string | undefined;
};

/** A POST of JSON. */
export type ReceiverRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** How one kind of receiver is spoken to. A new one is a file beside this, and a line in `kinds.ts`. */
export type Kind = {
  /** Where the config names none. */
  readonly url?: string;
  /** Undefined where it need not be told. The words of others in `lines` must not become markup, mentions or links there. */
  request(message: Message, target: Target): ReceiverRequest | undefined;
  /** How long its answer asks us to wait, where that is not told by Retry-After. */
  waitMs?(body: unknown, status: number): number | undefined;
  /** What was told under one id ends by a message of its own, as whoever reads it closes it by that id. */
  readonly closesById?: true;
  /** It forgets what is not told again within some of these. */
  readonly repeatMs?: number;
};

export function post(url: string, body: unknown, headers: ReceiverRequest["headers"] = {}): ReceiverRequest {
  return { url, headers, body: JSON.stringify(body) };
}

/** All but the link, as plain text. */
export function textOf({ lines }: Pick<Message, "lines">): string {
  return lines.join("\n");
}

/** Also of a name in letters of any language, and of an address. `1.5 s` is neither. */
const LINK = /:\/\/|@|www\.|(?<=[\p{L}\p{N}_-])[.\u3002\uff0e\uff61](?=\p{L})|(?<=\.\d+)\.(?=\d)/giu;

/** Who shows it makes links of what looks like one: a space that nobody sees keeps these from it. */
export function withoutLinks(text: string): string {
  return text.replaceAll(LINK, "$&\u200b");
}

export function msOf(seconds: unknown): number | undefined {
  return typeof seconds === "number" ? seconds * 1_000 : undefined;
}

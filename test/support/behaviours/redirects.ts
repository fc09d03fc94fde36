import { answer } from "../raw-upstream.ts";
import { type Behaviour, replies } from "./behaviour.ts";
import { pointingElsewhere, serving } from "./stage.ts";

const circling: Behaviour["open"] = serving(async (connection) => {
  await connection.request();
  connection.end(answer("", ["Location: resources", "Connection: close"], "302 Found"));
});

const REDIRECTING = [
  "301 Moved Permanently",
  "302 Found",
  "303 See Other",
  "307 Temporary Redirect",
  "308 Permanent Redirect",
];

/** Every answer of the 3xx class. Nobody may be sent elsewhere with our key. */
export const REDIRECTS: readonly Behaviour[] = [
  ...REDIRECTING.map((status): Behaviour => ({
    does: `sends us to another host with ${status.slice(0, 3)}`,
    open: pointingElsewhere(status),
    meets: "failed redirect",
    says: `answered ${status.slice(0, 3)}: no redirect is followed`,
  })),
  {
    does: "sends us in circles",
    open: circling,
    meets: "failed redirect",
    says: "answered 302: no redirect is followed",
  },
  {
    does: "redirects to nowhere",
    open: serving(replies(answer("", [], "302 Found"))),
    meets: "failed redirect",
    says: "answered 302: no redirect is followed",
  },
  {
    does: "offers a choice with 300",
    open: serving(replies(answer("{}", [], "300 Multiple Choices"))),
    meets: "failed redirect",
    says: "answered 300: no redirect is followed",
  },
  {
    does: "answers 304 although nothing was asked of the kind",
    open: serving(replies("HTTP/1.1 304 Not Modified\r\n\r\n")),
    meets: "failed redirect",
    says: "answered 304: no redirect is followed",
  },
];

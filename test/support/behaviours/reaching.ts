import type { Names } from "../../../src/transport/route.ts";
import { isSilent, leadsTo } from "../names.ts";
import { type Behaviour, briefly, replies } from "./behaviour.ts";
import { asking, frozen, nowhere, refusing, serving } from "./stage.ts";

function resolverSays(code: string): Names["addressesOf"] {
  return () => Promise.reject(Object.assign(new Error(code), { code }));
}

/** From the name to the connection. */
export const REACHING: readonly Behaviour[] = [
  {
    does: "has a name that does not exist",
    open: nowhere("http://does-not-exist.invalid"),
    meets: "failed dns",
    says: "cannot resolve the name of HOST: …",
  },
  {
    does: "has a name that the resolver does not know",
    open: nowhere("http://unknown.test"),
    lookup: resolverSays("ENOTFOUND"),
    meets: "failed dns",
    says: "cannot resolve the name of HOST: ENOTFOUND",
  },
  {
    does: "has a name whose servers fail",
    open: nowhere("http://servfail.test"),
    lookup: resolverSays("EAI_AGAIN"),
    meets: "failed dns",
    says: "cannot resolve the name of HOST: EAI_AGAIN",
  },
  {
    does: "has a name that the resolver hangs on",
    open: nowhere("http://hanging.test"),
    lookup: isSilent,
    poll: briefly,
    meets: "failed dns",
    says: "cannot resolve the name of hanging.test: no answer within 300 ms",
  },
  {
    does: "has a dead first address and a living second one",
    open: asking(serving(replies("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")), (url) =>
      url.replace("127.0.0.1", "both.test"),
    ),
    lookup: leadsTo("127.0.0.2", "127.0.0.1"),
    meets: "ok",
    says: "answered 200 with 2 B",
  },
  {
    does: "refuses the connection",
    open: refusing,
    meets: "failed connect",
    says: "cannot connect to HOST: ECONNREFUSED",
  },
  {
    does: "cannot be reached: no route leads there",
    open: nowhere("http://255.255.255.255:9"),
    meets: "failed connect",
    says: "cannot connect to HOST: ENETUNREACH",
  },
  {
    does: "never takes the connection",
    open: frozen,
    poll: briefly,
    meets: "failed timeout",
    says: "timed out after 600 ms while connecting",
  },
  {
    does: "closes the connection at once",
    open: serving((connection) => connection.end()),
    meets: "failed reset",
    says: "the connection was closed before an answer came",
  },
  {
    does: "resets the connection when it is asked",
    open: serving(replies("", "reset")),
    meets: "failed reset",
    says: "the connection was closed before an answer came: ECONNRESET",
  },
  {
    does: "takes the connection and is silent",
    open: serving(() => {}),
    poll: briefly,
    meets: "failed timeout",
    says: "timed out after 600 ms while waiting for the answer",
  },
];

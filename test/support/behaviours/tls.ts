import { connect } from "node:net";
import { type TlsOptions } from "node:tls";
import type { Tls } from "../../../src/kernel/config/config.ts";
import { certificates, type Identity } from "../certificates.ts";
import { answer, type Script } from "../raw-upstream.ts";
import { type Behaviour, briefly, replies } from "./behaviour.ts";
import { asking, serving, type Stage } from "./stage.ts";

const made = certificates();
const NO_FILES: Tls = {
  caFile: undefined,
  certFile: undefined,
  keyFile: undefined,
  serverName: undefined,
  insecureSkipVerify: false,
};
const trusting = { tls: { ...NO_FILES, caFile: made.ca.certFile } };
const greets = replies(answer("{}"));

function as({ cert, key }: Identity): TlsOptions {
  return { cert, key };
}

function securely(identity: Identity, more: TlsOptions = {}, script: Script = greets): () => Promise<Stage> {
  return serving(script, { tls: { ...as(identity), ...more } });
}

/** A server without TLS, asked for TLS. */
function unsecured(script: Script): () => Promise<Stage> {
  return asking(serving(script), (url) => url.replace("http:", "https:"));
}

/** Reads on until its client has gone: an alert that it sends is not overtaken by the reset for what lies unread. */
function patiently(inner: () => Promise<Stage>): () => Promise<Stage> {
  return async () => {
    const behind = await inner();
    const { port } = new URL(behind.url);
    const front = await serving(({ socket }) => {
      socket.allowHalfOpen = true;
      const back = connect({ host: "127.0.0.1", port: Number(port) }).on("error", () => {});
      socket.on("data", (bytes: Buffer) => void (back.destroyed || back.write(bytes)));
      socket.once("close", () => back.destroy());
      back.on("data", (bytes: Buffer) => void socket.write(bytes)).once("close", () => socket.end());
    })();
    return {
      ...behind,
      url: behind.url.replace(new URL(behind.url).host, new URL(front.url).host),
      open: () => front.open() + behind.open(),
      idle: async () => void (await Promise.all([front.idle(), behind.idle()])),
      close: async () => void (await Promise.all([front.close(), behind.close()])),
    };
  };
}

const demanding: TlsOptions = { requestCert: true, rejectUnauthorized: true, ca: made.ca.cert };

/** From the connection to the request. */
export const TLS: readonly Behaviour[] = [
  {
    does: "speaks TLS as it should",
    open: securely(made.server),
    poll: trusting,
    meets: "ok",
    says: "answered 200 with 2 B",
  },
  {
    does: "shows a certificate that has expired",
    open: securely(made.expired),
    poll: trusting,
    meets: "failed tls",
    says: "the certificate of 127.0.0.1 was rejected: CERT_HAS_EXPIRED",
  },
  {
    does: "shows a certificate for another host",
    open: securely(made.wrongHost),
    poll: trusting,
    meets: "failed tls",
    says: "the certificate of 127.0.0.1 was rejected: ERR_TLS_CERT_ALTNAME_INVALID",
  },
  {
    does: "shows a certificate of an unknown authority",
    open: securely(made.stranger),
    poll: trusting,
    meets: "failed tls",
    says: "the certificate of 127.0.0.1 was rejected: UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  },
  {
    does: "shows a certificate that it signed itself",
    open: securely(made.selfSigned),
    poll: trusting,
    meets: "failed tls",
    says: "the certificate of 127.0.0.1 was rejected: DEPTH_ZERO_SELF_SIGNED_CERT",
  },
  {
    does: "speaks plain HTTP where TLS is expected",
    open: unsecured((connection) => connection.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")),
    poll: trusting,
    meets: "failed tls",
    says: "TLS handshake with HOST failed: ERR_SSL_WRONG_VERSION_NUMBER",
  },
  {
    does: "speaks TLS where plain HTTP is expected",
    open: asking(securely(made.server), (url) => url.replace("https:", "http:")),
    meets: "failed reset",
    says: "the connection was closed before an answer came",
  },
  {
    does: "answers plain HTTP with a TLS alert",
    open: serving(replies("\u0015\u0003\u0003\u0000\u0002\u0002\u0046", "end")),
    meets: "failed protocol",
    says: "the answer is not valid HTTP: Expected HTTP/, RTSP/ or ICE/",
  },
  {
    does: "stalls in the TLS handshake",
    open: unsecured(() => {}),
    poll: { ...trusting, ...briefly },
    meets: "failed timeout",
    says: "timed out after 600 ms while in the TLS handshake",
  },
  {
    does: "closes in the TLS handshake",
    open: unsecured(({ socket }) => void socket.once("data", () => socket.end())),
    poll: trusting,
    meets: "failed tls",
    says: "TLS handshake with HOST failed: ECONNRESET",
  },
  {
    does: "resets in the TLS handshake",
    open: unsecured(({ socket }) => void socket.once("data", () => socket.resetAndDestroy())),
    poll: trusting,
    meets: "failed tls",
    says: "TLS handshake with HOST failed: ECONNRESET",
  },
  {
    does: "talks nonsense in the TLS handshake",
    open: unsecured((connection) => connection.write("\u0016\u0003\u0003\u0000\u0004nope")),
    poll: trusting,
    meets: "failed tls",
    says: "TLS handshake with HOST failed: ERR_SSL_UNEXPECTED_MESSAGE",
  },
  {
    does: "speaks an old TLS only",
    open: securely(made.server, { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" }),
    poll: trusting,
    meets: "failed tls",
    says: "TLS handshake with HOST failed: ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION",
  },
  {
    does: "demands a client certificate, in TLS 1.2",
    open: securely(made.server, { ...demanding, maxVersion: "TLSv1.2" }),
    poll: trusting,
    meets: "failed tls",
    says: "TLS handshake with HOST failed: ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE",
  },
  {
    does: "demands a client certificate, in TLS 1.3",
    open: patiently(securely(made.server, { ...demanding, minVersion: "TLSv1.3" })),
    poll: trusting,
    meets: "failed tls",
    says: "HOST aborted TLS after the handshake: ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED",
  },
  {
    does: "drops TLS without a word to end a body without a length",
    open: patiently(
      securely(made.server, {}, async (connection) => {
        await connection.request();
        connection.socket.write("HTTP/1.1 200 OK\r\n\r\n{}", () => connection.socket.destroy());
      }),
    ),
    poll: trusting,
    meets: "ok",
    says: "answered 200 with 2 B",
  },
];

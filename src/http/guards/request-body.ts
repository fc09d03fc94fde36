import type { Guard } from "./guard.ts";

/** No route reads a body; a POST may still carry a few bytes, as some clients cannot send none. */
const MAX_POST_BODY_BYTES = 1024;

/** Judged by the head alone: a body that is refused is never read, and its connection is closed. */
export const refuseBodies: Guard = async (c, next) => {
  const allowedBytes = c.req.method === "POST" ? MAX_POST_BODY_BYTES : 0;
  const lengthBytes = Number(c.req.header("content-length") ?? 0);
  const chunked = c.req.header("transfer-encoding") !== undefined;
  if (!chunked && lengthBytes <= allowedBytes) return next();
  c.header("Connection", "close");
  const received = chunked ? "a chunked one" : `${lengthBytes} bytes`;
  return c.text(
    `cannot take a request body: "${c.req.method}" must have at most ${allowedBytes} bytes, received ${received}\n`,
    413,
  );
};

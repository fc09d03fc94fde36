/** Limiters of Node.js's frameworks: the packages from npm, with the settings that their pages show first. */

import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import fastifyRateLimit from "@fastify/rate-limit";
import express from "express";
import { type Options, rateLimit } from "express-rate-limit";
import Fastify from "fastify";
import Koa from "koa";
import koaRateLimit from "koa-ratelimit";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { type Allowance, BODY, type Limiter, type OpenLimiter, Tally } from "./limiter.ts";

type Served = { readonly listener: RequestListener; readonly close?: () => Promise<void> };

export const NODE_LIMITERS: readonly Limiter[] = [
  expressLimiter("`X-RateLimit-*`", { legacyHeaders: true, standardHeaders: false }),
  expressLimiter("`RateLimit`, draft 6", { legacyHeaders: false, standardHeaders: "draft-6" }),
  expressLimiter("`RateLimit`, draft 7", { legacyHeaders: false, standardHeaders: "draft-7" }),
  expressLimiter("`RateLimit`, draft 8", { legacyHeaders: false, standardHeaders: "draft-8" }),
  expressLimiter("nothing", { legacyHeaders: false, standardHeaders: false }),
  fastifyLimiter("`X-RateLimit-*`", false),
  fastifyLimiter("`RateLimit-*`", true),
  koaLimiter("`X-RateLimit-*`", false),
  koaLimiter("only `Retry-After`", true),
  { name: "rate-limiter-flexible", tells: "`X-RateLimit-*`", open: openFlexible },
];

function expressLimiter(tells: string, options: Partial<Options>): Limiter {
  return {
    name: "express-rate-limit",
    tells,
    open: ({ requests, perMs }) => {
      const app = express();
      const limit = rateLimit({ windowMs: perMs, limit: requests, ...options });
      app.use(limit);
      app.get(/^/, (_, response) => void response.setHeader("content-type", "application/json").end(BODY));
      return serve({ listener: app });
    },
  };
}

function fastifyLimiter(tells: string, isDraft: boolean): Limiter {
  return {
    name: "@fastify/rate-limit",
    tells,
    open: async ({ requests, perMs }) => {
      const app = Fastify();
      await app.register(fastifyRateLimit, {
        max: requests,
        timeWindow: perMs,
        enableDraftSpec: isDraft,
      });
      app.get("/*", async (_, reply) => reply.type("application/json").send(BODY));
      await app.ready();
      return serve({
        listener: (request, response) => app.routing(request, response),
        close: async () => {
          await app.close();
        },
      });
    },
  };
}

function koaLimiter(tells: string, disableHeader: boolean): Limiter {
  return {
    name: "koa-ratelimit",
    tells,
    open: ({ requests, perMs }) => {
      const app = new Koa();
      app.use(
        koaRateLimit({ driver: "memory", db: new Map(), max: requests, duration: perMs, disableHeader }),
      );
      app.use((context: { type: string; body: string }) => {
        context.type = "application/json";
        context.body = BODY;
      });
      return serve({ listener: app.callback() });
    },
  };
}

/** It sets no headers by itself: these are those of its documentation's example. */
function openFlexible({ requests, perMs }: Allowance): Promise<OpenLimiter> {
  const limiter = new RateLimiterMemory({ points: requests, duration: perMs / 1_000 });
  const consume = async (): Promise<{ readonly status: number; readonly result: RateLimiterRes }> => {
    try {
      return { status: 200, result: await limiter.consume("caller") };
    } catch (error) {
      if (error instanceof RateLimiterRes) return { status: 429, result: error };
      throw error;
    }
  };
  return serve({
    listener: (_, response) =>
      void consume().then(({ status, result }) => {
        response.writeHead(status, {
          "Content-Type": "application/json",
          "Retry-After": result.msBeforeNext / 1_000,
          "X-RateLimit-Limit": requests,
          "X-RateLimit-Remaining": result.remainingPoints,
          "X-RateLimit-Reset": Math.ceil((Date.now() + result.msBeforeNext) / 1_000),
        });
        response.end(BODY);
      }),
  });
}

async function serve({ listener, close }: Served): Promise<OpenLimiter> {
  const tally = new Tally();
  const server = createServer((request, response) => {
    response.once("finish", () => tally.add(response.statusCode));
    listener(request, response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("cannot tell the server's port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    answers: async () => tally.answers,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await close?.();
    },
  };
}

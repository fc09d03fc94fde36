# The dependencies alone: they change more seldom than the code, so this layer is kept.
FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Production needs plain JavaScript only: no package's install script runs.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

# One short life of the daemon and of its threads, polling nobody: what they compile, and strip of its types, is kept
# for those to come. The heap's flag is part of what the cache is valid for, and so is the user.
FROM dependencies AS warmed
COPY bin ./bin
COPY src ./src
RUN mkdir -p node_modules/.cache/pacewatch && chown 1000:1000 node_modules/.cache/pacewatch
USER 1000:1000
RUN NODE_OPTIONS=--max-semi-space-size=4 node bin/warm.mjs && chmod -R go+rX node_modules/.cache/pacewatch

FROM node:24-slim
LABEL org.opencontainers.image.title="Pacewatch" \
      org.opencontainers.image.description="Watches third-party HTTP APIs from the caller's side, and is never the reason that they throttle you." \
      org.opencontainers.image.licenses="Apache-2.0"
# The health address is a whole URL, so that another port or TLS needs this one variable and no new image.
# A heap as large as the machine's memory suggests would be garbage for the most part (docs/performance.md).
ENV NODE_ENV=production \
    NODE_OPTIONS=--max-semi-space-size=4 \
    MALLOC_ARENA_MAX=2 \
    PACEWATCH_HEALTH_URL=http://127.0.0.1:10429/-/healthy
# Where a state file can live: a named volume keeps this owner. Nothing else is ever written.
RUN mkdir /data && chown 1000:1000 /data
WORKDIR /app
COPY --from=warmed --chown=0:0 /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY bin ./bin
# The default config is config/pacewatch.yaml, seen from here: mount your own directory at /app/config.
COPY config ./config
COPY src ./src
# By number: Kubernetes can check runAsNonRoot of a number only.
USER 1000:1000
EXPOSE 10429
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch(process.env.PACEWATCH_HEALTH_URL, { signal: AbortSignal.timeout(4000) }).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# No shell and no init in between: SIGTERM reaches the daemon, and it starts no children to reap.
ENTRYPOINT ["node", "--disable-sigusr1", "bin/pacewatch.mjs"]
CMD ["run", "--listen", "0.0.0.0:10429"]

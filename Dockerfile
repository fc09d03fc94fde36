# What "npm run build" wrote into dist/ goes into the image as it is. A release names the base by its digest
# (docs/release.md); the tag is for builds by hand.
ARG BASE=node:24-slim

# One short life of the daemon and of its threads, polling nobody: what they compile is kept for those to come. The
# flags are part of what the cache is valid for, and so are the user and the machine's kind.
FROM ${BASE} AS warmed
WORKDIR /app
COPY dist ./
COPY bin/warm.mjs ./bin/
RUN mkdir -p node_modules/.cache/pacewatch && chown 1000:1000 node_modules node_modules/.cache node_modules/.cache/pacewatch
USER 1000:1000
RUN NODE_OPTIONS=--max-semi-space-size=2 node bin/warm.mjs && chmod -R go+rX node_modules/.cache/pacewatch

FROM ${BASE}
LABEL org.opencontainers.image.title="Pacewatch" \
      org.opencontainers.image.description="Watches third-party HTTP APIs from the caller's side, and is never the reason that they throttle you." \
      org.opencontainers.image.licenses="Apache-2.0"
# The health address is a whole URL, so that another port or TLS needs this one variable and no new image.
# A heap as large as the machine's memory suggests would be garbage for the most part (docs/performance.md).
ENV NODE_ENV=production \
    NODE_OPTIONS=--max-semi-space-size=2 \
    MALLOC_ARENA_MAX=2 \
    PACEWATCH_HEALTH_URL=http://127.0.0.1:10429/-/healthy
# Where a state file can live: a named volume keeps this owner. Nothing else is ever written. And a name to type, for
# docker exec and kubectl exec (docs/command-line.md).
RUN mkdir /data && chown 1000:1000 /data && ln -s /app/bin/pacewatch.mjs /usr/local/bin/pacewatch
WORKDIR /app
COPY --from=warmed --chown=0:0 /app/node_modules ./node_modules
# The default config is config/pacewatch.yaml, seen from here: mount your own directory at /app/config.
COPY dist ./
# By number: Kubernetes can check runAsNonRoot of a number only.
USER 1000:1000
EXPOSE 10429
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch(process.env.PACEWATCH_HEALTH_URL, { signal: AbortSignal.timeout(4000) }).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# No shell and no init in between: SIGTERM reaches the daemon, and it starts no children to reap.
# The process gives up what it never does: other programs, native code, writing outside /data (docs/permissions.md).
# Node.js reads a cache only where it may write; the image's is root's and read-only all the same.
ENTRYPOINT ["node", "--disable-sigusr1", "--permission", "--allow-worker", "--allow-fs-read=*", "--allow-fs-write=/data", "--allow-fs-write=/app/node_modules/.cache/pacewatch/", "--disable-warning=PERM0006", "bin/pacewatch.mjs"]
CMD ["run", "--listen", "0.0.0.0:10429"]

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";

const DEPLOY = new URL("../../deploy/", import.meta.url);

const Compose = z.object({
  services: z.record(
    z.string(),
    z.object({
      image: z.string().optional(),
      command: z.array(z.string()).default([]),
      volumes: z.array(z.string()).default([]),
      ports: z.array(z.string()).default([]),
    }),
  ),
  volumes: z.record(z.string(), z.unknown()).default({}),
});

const FILES = ["compose.yaml", "compose.fleet.yaml"];
const [compose, fleet] = FILES.map((name) =>
  Compose.parse(parse(readFileSync(new URL(name, DEPLOY), "utf8"), { merge: true })),
);
const services = [compose, fleet].flatMap((file) => Object.entries(file?.services ?? {}));

test.each([
  { file: compose, atLeast: 5 },
  { file: fleet, atLeast: 2 },
])("what the containers are given exists here", ({ file, atLeast }) => {
  const volumes = Object.values(file?.services ?? {}).flatMap((service) => service.volumes);
  const sources = volumes.map((volume) => volume.split(":")[0] ?? "");
  const missing = sources.filter((source) =>
    source.startsWith(".")
      ? !existsSync(fileURLToPath(new URL(source, DEPLOY)))
      : !(source in (file?.volumes ?? {})),
  );
  expect(sources.length).toBeGreaterThanOrEqual(atLeast);
  expect(missing).toEqual([]);
});

test("two processes of a fleet have names, pages and ports of their own, and the lock that their config names", () => {
  const config = readFileSync(new URL("compose/fleet/pacewatch.yaml", DEPLOY), "utf8");
  const lock = /redis:\/\/(\w+):6379/.exec(config)?.[1];
  expect(Object.keys(fleet?.services ?? {})).toEqual(["pacewatch-0", "pacewatch-1", lock]);
  const text = readFileSync(new URL("compose.fleet.yaml", DEPLOY), "utf8");
  expect(text.match(/hostname: (\S+)/g)).toEqual(["hostname: pacewatch-0", "hostname: pacewatch-1"]);
  for (const [, port] of text.matchAll(/PACEWATCH_PAGE_URL: "http:\/\/localhost:(\d+)\/"/g))
    expect(services.flatMap(([, { ports }]) => ports)).toContain(`127.0.0.1:${port}:10429`);
});

test("nothing is open beyond this machine, and no image is of an unknown version", () => {
  for (const [, { image, ports }] of services) {
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    expect(image ?? "built:here").toMatch(/:(?:v?\d+\.\d+\.\d+|here)$/);
  }
});

test("each container scrapes, alerts and draws by the names of the others", () => {
  const prometheus = readFileSync(new URL("compose/prometheus.yml", DEPLOY), "utf8");
  const names = [...prometheus.matchAll(/targets: \["([^":]+):/g)].map(([, name]) => name);
  expect(names).toEqual(["pacewatch", "alertmanager"]);
  for (const name of names) expect(Object.keys(compose?.services ?? {})).toContain(name);
});

test("where it is shown how to start it, the image's files are built first", () => {
  const pages = ["../README.md", ...FILES].map((path) => readFileSync(new URL(path, DEPLOY), "utf8"));
  const starts = pages.flatMap((page) => page.match(/.*docker compose .*up.*/g) ?? []);
  expect(starts).toHaveLength(3);
  for (const line of starts) expect(line).toMatch(/npm run build && docker compose .* up --build/);
});

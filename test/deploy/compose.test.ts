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
      ports: z.array(z.string()),
    }),
  ),
  volumes: z.record(z.string(), z.unknown()),
});

const compose = Compose.parse(parse(readFileSync(new URL("compose.yaml", DEPLOY), "utf8")));
const services = Object.entries(compose.services);

test("what the containers are given exists here", () => {
  const sources = services.flatMap(([, { volumes }]) => volumes.map((volume) => volume.split(":")[0] ?? ""));
  const missing = sources.filter((source) =>
    source.startsWith(".")
      ? !existsSync(fileURLToPath(new URL(source, DEPLOY)))
      : !(source in compose.volumes),
  );
  expect(sources.length).toBeGreaterThan(5);
  expect(missing).toEqual([]);
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
  for (const name of names) expect(Object.keys(compose.services)).toContain(name);
});

test("where it is shown how to start it, the image's files are built first", () => {
  const pages = ["../README.md", "compose.yaml"].map((path) => readFileSync(new URL(path, DEPLOY), "utf8"));
  const starts = pages.flatMap((page) => page.match(/.*docker compose .*up.*/g) ?? []);
  expect(starts).toHaveLength(2);
  for (const line of starts) expect(line).toMatch(/npm run build && docker compose .* up --build/);
});

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

type Entry = {
  readonly resolved?: string;
  readonly link?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};

const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
  packages: Readonly<Record<string, Entry>>;
};

test("the lock file holds the packages of every platform, without which npm ci refuses it", () => {
  const missing = Object.entries(packages).flatMap(([path, entry]) =>
    Object.keys(entry.optionalDependencies ?? {}).filter(
      (name) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
    ),
  );
  expect(missing).toEqual([]);
});

test("the lock file records no download addresses", () => {
  const addresses = Object.values(packages)
    .filter((entry) => entry.link !== true)
    .flatMap((entry) => entry.resolved ?? []);
  expect(addresses).toEqual([]);
});

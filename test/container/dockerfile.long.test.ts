import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { freePort } from "../../tools/stack/free-port.ts";

const dockerfile = readFileSync("Dockerfile", "utf8").replaceAll(/\\\n\s*/gu, "");
const instructions = dockerfile.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

const all = (name: string): readonly string[] =>
  instructions.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));

const last = (name: string): string => all(name).at(-1) ?? "";

/** The arguments of an instruction in exec form; the shell form is no JSON. */
const execForm = (text: string): readonly string[] => JSON.parse(text.slice(text.indexOf("["))) as string[];

const healthUrl = /PACEWATCH_HEALTH_URL=(?<url>\S+)/u.exec(dockerfile)?.groups?.["url"] ?? "";

async function healthExitCode(url: string): Promise<number | null> {
  const [program, ...args] = execForm(last("HEALTHCHECK"));
  expect(program).toBe("node");
  const child = spawn(process.execPath, args, { env: { PACEWATCH_HEALTH_URL: url }, stdio: "ignore" });
  const [code] = (await once(child, "exit")) as [number | null];
  return code;
}

async function healthExitCodeAt(listener: RequestListener): Promise<number | null> {
  const server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const code = await healthExitCode(`http://127.0.0.1:${String(port)}/-/healthy`);
  server.close();
  server.closeAllConnections();
  return code;
}

describe("the health check of the image", () => {
  test("passes where the daemon answers 200 on the path that it was given", async () => {
    const code = await healthExitCodeAt((request, response) => {
      response.writeHead(request.url === "/-/healthy" ? 200 : 404).end();
    });
    expect(code).toBe(0);
  });

  test("fails on any other answer", async () => {
    const code = await healthExitCodeAt((_, response) => {
      response.writeHead(503).end();
    });
    expect(code).toBe(1);
  });

  test("fails where the daemon is there and does not answer", async () => {
    expect(await healthExitCodeAt(() => undefined)).toBe(1);
  });

  test("fails where nobody listens", async () => {
    expect(await healthExitCode(`http://127.0.0.1:${String(await freePort())}/`)).toBe(1);
  });
});

describe("the Dockerfile", () => {
  test("exposes the port that its command listens on and its health check asks", () => {
    const listen = execForm(last("CMD")).at(-1);
    expect(listen).toBe(`0.0.0.0:${last("EXPOSE")}`);
    expect(new URL(healthUrl).port).toBe(last("EXPOSE"));
  });

  test("starts the daemon without a shell in between, which would keep SIGTERM to itself", () => {
    expect(execForm(last("ENTRYPOINT"))[0]).toBe("node");
  });

  test("lets people type what the pages tell them to type: pacewatch", () => {
    const entry = `${last("WORKDIR")}/${execForm(last("ENTRYPOINT")).at(-1)}`;
    expect(last("RUN")).toContain(`ln -s ${entry} /usr/local/bin/pacewatch`);
    expect(readFileSync("bin/pacewatch.mjs", "utf8")).toMatch(/^#!\/usr\/bin\/env -S sh -c '.*exec node /u);
  });

  test("drops to a user that is not root, by number, after everything was copied", () => {
    expect(last("USER")).toMatch(/^[1-9]\d*:[1-9]\d*$/u);
    const user = instructions.findLastIndex((line) => line.startsWith("USER "));
    const copy = instructions.findLastIndex((line) => line.startsWith("COPY "));
    expect(user).toBeGreaterThan(copy);
  });

  test("builds and runs on the Node.js that the project asks for", () => {
    const { engines } = JSON.parse(readFileSync("package.json", "utf8")) as { engines: { node: string } };
    const major = /\d+/u.exec(engines.node)?.[0];
    expect(all("ARG")).toEqual([`BASE=node:${major}-slim`]);
    expect(all("FROM").map((from) => from.split(" ")[0])).toEqual(["${BASE}", "${BASE}"]);
  });

  test("warms what it compiles with the heap that it will run with, else the cache would not be valid", () => {
    const flags = dockerfile.match(/NODE_OPTIONS=\S+/gu) ?? [];
    expect(flags).toHaveLength(2);
    expect(new Set(flags).size).toBe(1);
  });

  test("copies only what .dockerignore lets through, and all of that exists", () => {
    const allowed = readFileSync(".dockerignore", "utf8")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1))
      // A part of what is copied as a whole, of which the rest is left out.
      .filter((path) => !path.startsWith("dist/"));
    const copied = all("COPY")
      .filter((line) => !line.startsWith("--from"))
      .flatMap((line) => line.split(" ").slice(0, -1));
    expect(new Set(copied)).toEqual(new Set(allowed));
    // The build writes this one.
    expect(copied.filter((path) => path !== "dist" && !existsSync(path))).toEqual([]);
  });
});

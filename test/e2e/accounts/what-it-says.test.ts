import { expect, it } from "vitest";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleValue } from "../../support/metrics/exposition-parser.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { answer, openRawUpstream } from "../../support/raw-upstream.ts";

it("an upstream that announces its end and then fails is shown with the day, the link and the request id", async () => {
  const upstream = await openRawUpstream(async (connection) => {
    await connection.request();
    const said = ["Connection: close"];
    if (connection.index === 0) {
      const link = 'Link: <https://api.example.com/end>; rel="sunset"';
      connection.end(answer("{}", [...said, link, "Sunset: Sat, 01 May 2027 00:00:00 GMT"]));
    } else
      connection.end(answer("{}", [...said, "X-Request-Id: req_7f3a", "X-Session: test-key-1"], "500 Oops"));
  });
  await using folder = await openConfigFolder({
    budgets: { api: { rate: { requests: 6000, per: "1m" } } },
    upstreams: [rawUpstream("email", upstream.url)],
  });
  await using daemon = await startDaemon({ configPath: folder.path });
  const { body: page } = await eventually(
    "a failure is on the page",
    () => daemon.get("/upstreams/email"),
    ({ body }) => body.includes("req_7f3a"),
  );
  expect(page).toContain('<a href="https://api.example.com/end"');
  expect(page).not.toContain("test-key-1");
  // A failure does not take back what was announced.
  const families = await daemon.metrics();
  const labels = { upstream: "email" };
  expect(sampleValue(families, "pacewatch_upstream_sunset_timestamp_seconds", labels)).toBe(1_809_129_600);
  const { body: api } = await daemon.get("/api/v1/upstreams/email");
  expect(api).toContain('"name":"x-request-id","bytes":8,"value":"req_7f3a"');
  expect(daemon.logs.filter(({ msg }) => msg === "upstream announces the end of its API")).toHaveLength(1);
  await upstream.close();
});

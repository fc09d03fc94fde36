/** What a figure counts in; a ratio counts in nothing. */
export type Unit = "ratio" | "µs" | "ms" | "MB" | "kB" | "cores" | "count";

export type Goal = {
  readonly figure: string;
  readonly says: string;
  readonly atMost: number;
};

/** A figure may be at most this. Where bare Node.js sets the scale, the goal is a ratio to it. */
export const GOALS: readonly Goal[] = [
  { figure: "cpu-http-fresh", says: "CPU over HTTP", atMost: 0.45 },
  { figure: "cpu-https-fresh", says: "CPU over HTTPS", atMost: 1 },
  { figure: "cpu-https-reused", says: "CPU, HTTPS kept", atMost: 0.2 },
  {
    figure: "floor-100-http-fresh",
    says: "CPU at 100/s to bare Node.js",
    atMost: 1.4,
  },
  {
    figure: "floor-1000-http-fresh",
    says: "CPU at 1,000/s to bare Node.js",
    atMost: 1.5,
  },
  {
    figure: "floor-100-https-fresh",
    says: "CPU over HTTPS to bare Node.js",
    atMost: 1.1,
  },
  { figure: "rss-at-100-http-fresh", says: "RSS at 100/s", atMost: 110 },
  { figure: "idle-cores", says: "idle cores", atMost: 0.001 },
  { figure: "error-idle-p99", says: "latency error p99", atMost: 1 },
  { figure: "error-scraped-p99", says: "latency error p99 while scraped in a loop", atMost: 1 },
  { figure: "error-burst-p99", says: "latency error p99, one schedule", atMost: 0.1 },
  { figure: "rss-2", says: "RSS", atMost: 80 },
  { figure: "rss-1000", says: "RSS of 1,000 upstreams", atMost: 130 },
  { figure: "rss-5000", says: "RSS of 5,000 upstreams", atMost: 300 },
  { figure: "rss-per-upstream", says: "RSS per upstream", atMost: 60 },
  { figure: "start-up", says: "start-up to bare Node.js", atMost: 350 / 40 },
  { figure: "report-html-ms", says: "a year's report as html", atMost: 2_000 },
  { figure: "report-html-rss", says: "RSS of a year's report as html", atMost: 150 },
  { figure: "report-json-ms", says: "a year's report as json", atMost: 2_000 },
  { figure: "report-json-rss", says: "RSS of a year's report as json", atMost: 150 },
  { figure: "report-csv-ms", says: "a year's report as csv", atMost: 2_000 },
  { figure: "report-csv-rss", says: "RSS of a year's report as csv", atMost: 150 },
  { figure: "scale-missed", says: "slots of 5,000 upstreams not polled", atMost: 0 },
  { figure: "scale-cores", says: "cores for 5,000 upstreams", atMost: 0.5 },
  { figure: "scale-page", says: "page of 5,000 upstreams", atMost: 200 },
  { figure: "scale-api", says: "API list of 5,000 upstreams", atMost: 200 },
];

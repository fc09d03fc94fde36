/** What a figure counts in; a ratio counts in nothing. */
export type Unit = "ratio" | "µs" | "ms" | "MB" | "kB" | "cores" | "count";

export type Goal = {
  readonly figure: string;
  readonly says: string;
  readonly atMost: number;
};

/** A figure may be at most this. Where bare Node.js sets the scale, the goal is a ratio to it. */
export const GOALS: readonly Goal[] = [
  { figure: "cpu-http-fresh", says: "CPU per poll, HTTP, fresh connections", atMost: 0.45 },
  { figure: "cpu-https-fresh", says: "CPU per poll, HTTPS, fresh connections", atMost: 1 },
  { figure: "cpu-https-reused", says: "CPU per poll, HTTPS, reused, to its fresh", atMost: 0.2 },
  {
    figure: "floor-100-http-fresh",
    says: "CPU per poll at 100 a second, HTTP, to bare Node.js",
    atMost: 1.4,
  },
  {
    figure: "floor-1000-http-fresh",
    says: "CPU per poll at 1,000 a second, HTTP, to bare Node.js",
    atMost: 1.5,
  },
  {
    figure: "floor-100-https-fresh",
    says: "CPU per poll at 100 a second, HTTPS, to bare Node.js",
    atMost: 1.1,
  },
  { figure: "rss-at-100-http-fresh", says: "RSS at 100 polls a second", atMost: 110 },
  { figure: "idle-cores", says: "cores used, 2 upstreams every 15s", atMost: 0.001 },
  { figure: "error-idle-p99", says: "latency error p99 at 200 a second", atMost: 1 },
  { figure: "error-scraped-p99", says: "the same, 1,000 upstreams scraped in a loop", atMost: 1 },
  { figure: "error-burst-p99", says: "latency error p99, 200 with one schedule", atMost: 0.1 },
  { figure: "rss-2", says: "RSS with 2 upstreams", atMost: 80 },
  { figure: "rss-per-upstream", says: "RSS per further upstream", atMost: 60 },
  { figure: "start-up", says: "start-up, to bare Node.js", atMost: 350 / 40 },
  { figure: "scale-missed", says: "slots not polled, 5,000 upstreams every 10s", atMost: 0 },
  { figure: "scale-cores", says: "cores used, 5,000 upstreams every 10s", atMost: 0.5 },
  { figure: "scale-page", says: "the slowest page, 5,000 upstreams", atMost: 200 },
  { figure: "scale-api", says: "the slowest API answer, 5,000 upstreams", atMost: 200 },
];

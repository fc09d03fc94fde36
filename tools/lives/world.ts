import { existsSync } from "node:fs";
import {
  copyFile,
  link,
  open,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ConfigFolder,
  openConfigFolder,
  type RawConfig,
  rawUpstream,
} from "../../test/support/config-folder.ts";
import { SmallDisk } from "../../test/features/state/disks.ts";
import { type Daemon, launch, startDaemon } from "../../test/support/processes/daemon.ts";
import { openWallClock, requireFakeTime, type WallClock } from "../../test/support/processes/wall-clock.ts";
import { CountingUpstream, LIMIT, TIMEOUT_MS } from "./upstream.ts";

const QUOTA = 60;
const LIVES_A_WORLD = 12;
/** What an answer asks for is written at once, and promised within a second. */
const WRITTEN_WITHIN_MS = 1_000;
const DAY_S = 86_400;
const DISK_BYTES = 2 * 1024 * 1024;
const FILLER = "filler";
const MOVED = "it was moved to";
const COUNTS_AS_USED = "counts as used";

export type Tally = {
  lives: number;
  kills: number;
  damages: number;
  told: number;
  steps: number;
  full: number;
  reloads: number;
};

/** What one budget with a quota and one with pauses went through, until the quota is used or the lives are over. */
export async function liveInAWorld(
  seed: number,
  tally: Tally,
  isOver: () => boolean = () => false,
): Promise<readonly string[]> {
  const random = seeded(seed);
  await using upstream = new CountingUpstream(random);
  const url = await upstream.open();
  await using folder = await openConfigFolder(configOf(url, random));
  using disk =
    random() < 0.5 ? SmallDisk.mount(join(dirname(folder.path), "data"), String(DISK_BYTES)) : undefined;
  const library = requireFakeTime();
  await using clock = library === undefined ? undefined : await openWallClock(library);
  const world = new World({ seed, random, upstream, url, folder, disk, clock, tally });
  for (let life = 0; life < LIVES_A_WORLD && !isOver(); life += 1) {
    await world.life();
    const used = upstream.asked("counted");
    if (used > QUOTA) upstream.broken.push(`${used} of ${QUOTA} of the quota were used`);
    if (upstream.broken.length > 0) break;
  }
  return upstream.broken.map((sentence) => `seed ${seed}: ${sentence} (${world.story.join(", ")})`);
}

function configOf(url: string, random: () => number): RawConfig {
  const rate = { requests: LIMIT.requests, per: "1s" };
  const paused = random() < 0.5 ? "paused" : "renamed";
  const of = (name: string, path: string, budget: string): ReturnType<typeof rawUpstream> =>
    rawUpstream(name, `${url}/${path}`, { budget, timeout: `${TIMEOUT_MS}ms` });
  const counted = ["a", "b", "c"].slice(0, 1 + Math.floor(random() * 3));
  return {
    state: { path: "data/pacewatch.db" },
    budgets: {
      counted: {
        rate,
        share: "100%",
        quota: { requests: QUOTA, per: random() < 0.8 ? "30d" : "1h", on_exhaust: "stop" },
      },
      [paused]: { rate, share: "100%", max_pause: "1m" },
    },
    upstreams: [
      ...counted.map((name) => of(name, "counted", "counted")),
      ...["d", "e"].map((name) => of(name, "paused", paused)),
    ],
  };
}

type WorldParts = {
  readonly seed: number;
  readonly random: () => number;
  readonly upstream: CountingUpstream;
  readonly url: string;
  readonly folder: ConfigFolder;
  /** Some worlds have a disk that may be full. */
  readonly disk: SmallDisk | undefined;
  readonly clock: WallClock | undefined;
  readonly tally: Tally;
};

class World {
  readonly story: string[] = [];
  readonly #parts: WorldParts;
  readonly #path: string;
  /** The next start may find that some of it is gone, and must say so. */
  #mayHaveLost = false;

  constructor(parts: WorldParts) {
    this.#parts = parts;
    this.#path = parts.folder.path.replace(/[^/]*$/, "data/pacewatch.db");
  }

  async life(): Promise<void> {
    const { random, folder, clock, tally } = this.#parts;
    tally.lives += 1;
    const environment = clock?.environment ?? {};
    const kept = `${this.#path}.kept`;
    if (random() < 0.8) await this.#emptyDisk();
    const damage = await this.#damage(kept);
    const mayHaveLost = this.#mayHaveLost || damage !== undefined;
    let daemon: Daemon;
    try {
      daemon = await startDaemon({ configPath: folder.path, environment });
    } catch (error) {
      // No file is begun on a disk that is full: such a start is refused, in a sentence.
      if ((await this.#emptyDisk()) && String(error).includes("on a disk that is full")) {
        this.story.push("refused as full");
        return;
      }
      // A few bytes of its header say whose file it is: so is such a start.
      if (damage === undefined || !String(error).includes("cannot keep state")) throw error;
      this.story.push("refused");
      tally.told += 1;
      await copyFile(kept, this.#path);
      return;
    }
    await using running = daemon;
    this.#mayHaveLost = false;
    const lost = running.logs.some(({ msg }) => msg.includes(MOVED) || msg.includes(COUNTS_AS_USED));
    if (lost) tally.told += 1;
    if (!mayHaveLost && lost) this.#parts.upstream.broken.push("what nobody touched was called lost");
    if (damage === "gone" && !lost) this.#parts.upstream.broken.push("nobody told that the file was gone");
    for (let turns = 1 + Math.floor(random() * 4); turns > 0; turns -= 1) {
      await sleep(300 + random() * 1_500);
      await this.#event(running, environment);
    }
    const isKilled = await this.#end(running);
    // What counts in place of what was lost is not all in the file at once: until then the next start says it too.
    if (lost && isKilled) this.#mayHaveLost = true;
    // Where it was deleted, there is no file to say it in, until the next start.
    if (lost && existsSync(this.#path) && random() < 0.7) await this.#sayWhatWasUsed();
  }

  async #event(daemon: Daemon, environment: Readonly<Record<string, string>>): Promise<void> {
    const { random, folder, disk, url, clock, tally, upstream } = this.#parts;
    const kind = Math.floor(random() * 7);
    if (kind === 0) {
      this.story.push(`reload at ${Math.round(performance.now())}`);
      tally.reloads += 1;
      await folder.write(configOf(url, random));
      for (let asked = 1 + Math.floor(random() * 3); asked > 0; asked -= 1) daemon.kill("SIGHUP");
    } else if (kind === 1 && clock !== undefined) {
      this.story.push("step");
      tally.steps += 1;
      await clock.setOffset([-3_600, 3_600, DAY_S, -400 * DAY_S, 400 * DAY_S][Math.floor(random() * 5)] ?? 0);
      await sleep(200 + random() * 2_000);
      if (random() < 0.8) await clock.setOffset(0);
    } else if (kind === 2) {
      this.story.push("journal removed");
      await rm(`${this.#path}-journal`, { force: true });
    } else if (kind === 3) {
      await this.#second(environment);
    } else if (kind === 4 && disk !== undefined) {
      this.story.push("full");
      tally.full += 1;
      await writeFile(join(disk.path, FILLER), Buffer.alloc(DISK_BYTES)).catch(() => {});
      await sleep(random() * 3_000);
      if (random() < 0.5) await this.#emptyDisk();
      this.#mayHaveLost = true;
      upstream.forgetPauses();
    } else if (kind === 5 && random() < 0.3) {
      this.story.push("deleted");
      tally.damages += 1;
      await rm(this.#path, { force: true });
      this.#mayHaveLost = true;
      upstream.forgetPauses();
    }
  }

  /** Another daemon on the same file, by another name: it must not start. */
  async #second(environment: Readonly<Record<string, string>>): Promise<void> {
    const { random, disk, url, upstream } = this.#parts;
    this.story.push("second");
    await using other = await openConfigFolder(configOf(url, random));
    const alias = join(other.path, "..", "alias.db");
    // Where it was just deleted, there is nothing that the first one could hold. No link leads to another disk.
    if (!existsSync(this.#path)) return;
    await (disk === undefined && random() < 0.5 ? link(this.#path, alias) : symlink(this.#path, alias));
    const text = await readFile(other.path, "utf8");
    await other.write(text.replaceAll("data/pacewatch.db", "alias.db"));
    await using daemon = launch(["run", "--config", other.path, "--listen", "127.0.0.1:0"], environment);
    if ((await daemon.exited).code !== 1) upstream.broken.push("a second daemon started on the same file");
  }

  async #end(daemon: Daemon): Promise<boolean> {
    const { random, upstream, clock, tally } = this.#parts;
    const isKilled = random() < 0.6;
    this.story.push(`${isKilled ? "kill" : "term"} at ${Math.round(performance.now())}`);
    if (isKilled) tally.kills += 1;
    const endedMs = performance.now();
    daemon.kill(isKilled ? "SIGKILL" : "SIGTERM");
    await daemon.exited;
    if (isKilled) upstream.forgetPausesSince(endedMs - WRITTEN_WITHIN_MS);
    for (const { msg } of daemon.logs) if (msg.includes("state file")) this.story.push(`(${msg})`);
    if (this.#mayHaveLost) upstream.forgetPauses();
    await clock?.setOffset(0);
    return isKilled;
  }

  /** Whether there was anything to take away. */
  async #emptyDisk(): Promise<boolean> {
    const { disk } = this.#parts;
    const filler = disk === undefined ? undefined : join(disk.path, FILLER);
    if (filler === undefined || !existsSync(filler)) return false;
    await rm(filler);
    return true;
  }

  /** Between two lives. Undefined if nothing was done to the file. */
  async #damage(kept: string): Promise<string | undefined> {
    const { random, upstream, tally } = this.#parts;
    const size = await stat(this.#path).then(
      ({ size: bytes }) => bytes,
      () => 0,
    );
    if (size === 0) return undefined;
    await this.#emptyDisk();
    await copyFile(this.#path, kept);
    const kinds = ["none", "none", "none", "journal", "link", "flip", "zeros", "truncate", "empty", "gone"];
    const kind = kinds[Math.floor(random() * kinds.length)] ?? "none";
    if (kind === "none") return undefined;
    this.story.push(kind);
    if (kind === "journal") {
      await rm(`${this.#path}-journal`, { force: true });
      return undefined;
    }
    if (kind === "link") {
      const elsewhere = `${this.#path}.elsewhere-${Math.floor(random() * 1e9)}`;
      await rename(this.#path, elsewhere);
      await symlink(elsewhere, this.#path);
      return undefined;
    }
    tally.damages += 1;
    upstream.forgetPauses();
    if (kind === "gone") await rm(this.#path);
    else if (kind === "truncate") await truncate(this.#path, Math.floor(random() * size));
    else if (kind === "empty") await writeFile(this.#path, "");
    else {
      await using file = await open(this.#path, "r+");
      const at = Math.floor(random() * size);
      const bytes = Buffer.alloc(kind === "flip" ? 1 : 4_096);
      await file.read(bytes, 0, bytes.length, at);
      if (kind === "flip") bytes[0] = (bytes[0] ?? 0) ^ (1 << Math.floor(random() * 8));
      else bytes.fill(0);
      await file.write(bytes, 0, Math.min(bytes.length, size - at), at);
    }
    return kind;
  }

  async #sayWhatWasUsed(): Promise<void> {
    const { upstream, folder } = this.#parts;
    this.story.push("said");
    await this.#emptyDisk();
    const used = String(Math.min(QUOTA, upstream.asked("counted")));
    await using said = launch(["quota", "counted", "--used", used, "--config", folder.path]);
    if ((await said.exited).code !== 0)
      upstream.broken.push(`what was used could not be said: ${said.stderr}`);
  }
}

function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

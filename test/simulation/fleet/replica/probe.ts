import type { Observation } from "../../../../src/core/exchange/exchange.ts";
import type { Probe } from "../../../../src/core/poll/ports.ts";
import type { Dice } from "../../generate/dice.ts";
import type { Network, Sender } from "../../world/network.ts";
import type { Tally } from "../../judge/tally.ts";

/** Some are far away: their connections take as long as they may, or longer. The others connect at once. */
const FAR = 0.3;

/**
 * A probe connects first, and asks whether it still may just before it writes: meanwhile the process may have stood
 * still for any time.
 */
export class FleetProbe implements Probe {
  readonly #sender: Sender;
  readonly #network: Network;
  readonly #tally: Tally;
  readonly #dice: Dice;
  readonly #isCalm: () => boolean;
  readonly #onConnecting: () => void;
  readonly #isFar: boolean;

  constructor(
    sender: Sender,
    network: Network,
    tally: Tally,
    dice: Dice,
    isCalm: () => boolean,
    onConnecting: () => void,
  ) {
    this.#sender = sender;
    this.#network = network;
    this.#tally = tally;
    this.#dice = dice;
    this.#isCalm = isCalm;
    this.#onConnecting = onConnecting;
    this.#isFar = dice.chance(FAR);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async poll(signal: AbortSignal, mayWrite?: () => boolean): Promise<Observation> {
    this.#tally.sent += 1;
    try {
      return await this.#poll(signal, mayWrite ?? (() => true));
    } finally {
      this.#tally.ended += 1;
    }
  }

  async #poll(signal: AbortSignal, mayWrite: () => boolean): Promise<Observation> {
    const { clock, upstream } = this.#sender;
    const beganMs = clock.now();
    const isInstant = this.#isCalm() || !this.#isFar;
    const connectMs = isInstant ? 0 : this.#dice.between(0.2, 1.1) * upstream.timeoutMs;
    if (connectMs > 0) {
      const connected = clock.sleep(Math.min(connectMs, upstream.timeoutMs), signal);
      this.#onConnecting();
      await connected;
    }
    const tookMs = clock.now() - beganMs;
    if (signal.aborted) return unsent("reset", tookMs);
    // For a process that stood still, the deadline and the connection are due at once.
    const isLate = connectMs > 0 && tookMs >= upstream.timeoutMs;
    if (connectMs > upstream.timeoutMs || (isLate && this.#dice.chance(0.5)))
      return unsent("timeout", tookMs);
    if (!mayWrite()) return unsent("timeout", tookMs);
    const timeoutMs = Math.max(1, upstream.timeoutMs - tookMs);
    return this.#network.send({ ...this.#sender, upstream: { ...upstream, timeoutMs } }, signal);
  }
}

function unsent(fault: "reset" | "timeout", durationMs: number): Observation {
  return {
    exchange: { kind: "broken", fault, detail: fault, sent: false, head: undefined },
    durationMs,
    phasesMs: {},
    certificateExpiresAtMs: undefined,
    withoutKeys: String,
  };
}

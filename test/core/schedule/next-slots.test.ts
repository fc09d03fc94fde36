import { expect, test } from "vitest";
import { NextSlots, nextSlotMs, scheduleCron, type Schedule } from "../../../src/core/schedule/schedule.ts";

function scheduleOf(text: string): Schedule {
  const reading = scheduleCron(text);
  if (reading.kind === "refused") throw new Error(reading.message);
  return reading.schedule;
}

test.each(["*/10 * * * * *", "* * * * * *", "0,7,9 * 3 * * *", "0 0 0 29 2 *"])(
  "whatever moments are asked about, forth and back, %s answers as if each were the first",
  (expression) => {
    const schedule = scheduleOf(expression);
    const slots = new NextSlots(schedule);
    let wallMs = Date.UTC(2026, 10, 21, 2, 59, 50);
    for (let step = 0; step < 500; step += 1) {
      wallMs += ((step * 7_919) % 3_001) - 900;
      expect(slots.after(wallMs), `after ${wallMs}`).toBe(nextSlotMs(schedule, wallMs));
    }
  },
);

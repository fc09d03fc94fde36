import type { Attack } from "../attack.ts";
import { crowd } from "../crowd.ts";

export const attack: Attack = {
  name: "1,500 connections that say nothing",
  run: (target, signal) => crowd(target, signal, 1_500, () => {}),
};

import type { ReceiverKind } from "../receiver.ts";
import type { Kind } from "./kind.ts";
import { alertmanager } from "./alertmanager.ts";
import { discord } from "./discord.ts";
import { ntfy } from "./ntfy.ts";
import { pagerduty } from "./pagerduty.ts";
import { slack } from "./slack.ts";
import { teams } from "./teams.ts";
import { telegram } from "./telegram.ts";
import { webhook } from "./webhook.ts";

export const KINDS: Readonly<Record<ReceiverKind, Kind>> = {
  webhook,
  slack,
  discord,
  teams,
  ntfy,
  telegram,
  pagerduty,
  alertmanager,
};

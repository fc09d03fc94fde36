/** How each figure of a report was computed. The keys are those of its JSON. */
export const HOW = {
  report:
    "Times are UTC. Each poll is one request from where Pacewatch runs, within the provider's rate limit. Its outcome is decided by its answer alone, and kept by the hour.",
  short: "Each figure is told again below, with how it was computed.",
  request: "What each poll sends, as the config has it: what is secret in it is the name of its variable.",
  budgets: "The limits of the provider that its polls count against, by their names in the config.",
  labels: "Those of the upstream in the config, such as its account and its team.",
  lengthMs: "From the beginning of the period to its end, or to when the report was written.",
  watchedMs:
    "Each poll that was ok or failed covers the time since the one before, at most the usual gap of the schedule that it was sent by: a night or a weekend without polls was not watched. It is counted with the poll, so that a schedule that changes later changes nothing.",
  failedMs: "The part of the watched time that the polls that failed cover.",
  watched: "Watched / length of the period.",
  watchedMinutes: "The minutes with at least one poll that was ok or failed.",
  ok: "Polls whose answer was what the config expects.",
  failed:
    "Polls without a valid answer, or with an error that is the upstream's: no connection, timeout, 5xx, not what the config expects. A failure while no upstream at all could be reached is ours, and not in here.",
  availability:
    "(Watched - failed) / watched. Of how much is said where less than a tenth of the period was watched.",
  throttled:
    "Polls that were refused for a rate limit or a quota (mostly 429). They say nothing of whether it works.",
  rejected:
    "Polls whose key, token or permission was rejected (mostly 401 or 403). They say nothing of whether it works.",
  offline: "Polls that failed while no upstream could be reached: our own network was down.",
  otherOurs: "Polls that ended while Pacewatch was suspended, had no memory for the answer, or had a bug.",
  unwatched:
    "Length of the period - watched: Pacewatch did not run, no poll was due or could be sent, or the polls are among those left out above. It counts neither for nor against the provider.",
  meanMs:
    "Of the ok polls: the sum of their durations / their number, from before the connection to the last byte.",
  slowestMs: "The longest of the ok polls.",
  withinObjective: "Ok polls that took no longer than the objective / ok polls.",
  months:
    "Availability = 1 - bad minutes / minutes of the month that have begun, so each minute that nobody watched counts as good. Of those watched = 1 - bad minutes / watched minutes. Where less than a tenth was watched, no promise is called kept. A credit is worked out for a whole month that is over, by the first of the two.",
  incidents:
    "From: when the first poll that shows it was sent. To: the end of the first poll that was ok. Lasted = to - from. In this period: the part of it that lies in the period. An incident is called by the worst in it: polls that were throttled or rejected before or meanwhile are in the time and the polls of an outage, but not in the availability. Left out: throttled, our key, or our own network.",
  evidence:
    "Of each incident the first two polls that were not ok, and the last one. Request ids are the provider's own. What came back is quoted: keys are removed, and long texts are cut.",
  costs:
    "Of Pacewatch's own polls: what each cost by the price that the config had then, in billionths, rounded up. Where no answer tells how much was used, it is the most that the poll may cost. Polls without a price are not in here.",
  days: "As above, for each day from the first one with a poll.",
} as const;

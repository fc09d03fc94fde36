import type { Message } from "../../../src/features/notify/plan/message.ts";

export function sampleMessage(changes: Partial<Message> = {}): Message {
  const sinceMs = 1_790_000_000_000;
  return {
    event: "down",
    incident: "email/mul1x2",
    isOver: false,
    isReminder: false,
    atMs: sinceMs + 10_000,
    sinceMs,
    untilMs: undefined,
    members: [
      {
        incident: "email/mul1x2",
        subject: "email",
        kind: "down",
        labels: { team: "growth" },
        upstream: "email",
        title: "email is down",
        sinceMs,
        untilMs: undefined,
      },
    ],
    of: 2,
    side: "them",
    title: "email is down",
    lines: ["Since 2026-09-21 14:13:20 UTC, for 10 s.", "Status 503. It answered: busy"],
    link: "https://pacewatch.example/upstreams/email",
    ...changes,
  };
}

export function sampleUp(): Message {
  const down = sampleMessage();
  const untilMs = down.sinceMs + 60_000;
  const members = down.members.map((member) => ({ ...member, untilMs, title: "email is up again" }));
  return { ...down, event: "up", isOver: true, untilMs, atMs: untilMs, title: "email is up again", members };
}

import { answer } from "../raw-upstream.ts";
import { type Behaviour, briefly, replies } from "./behaviour.ts";
import { serving } from "./stage.ts";

const greeting = serving(replies(answer("{}")));
const withKey = { auth: { kind: "bearer", secret: { file: "key" } } } as const;

/** Nothing is wrong with the upstream: what is wrong here must not be called its fault. */
export const OWN_FAULTS: readonly Behaviour[] = [
  {
    does: "is healthy, but whose key cannot be sent in a header",
    open: greeting,
    poll: withKey,
    credential: async () => "test-key\nX-Forged: 1",
    meets: "ours bug",
    says: "the key contains characters that a header cannot carry",
  },
  {
    does: "is healthy, but whose key is never read",
    open: greeting,
    poll: { ...withKey, ...briefly },
    credential: () => new Promise(() => {}),
    meets: "ours bug",
    says: "the key was not read within 600 ms",
  },
  {
    does: "is healthy, but whose key's reading breaks",
    open: greeting,
    poll: withKey,
    credential: () => Promise.reject(Object.assign(new Error("test-key-in-a-message"), { code: "EIO" })),
    meets: "ours bug",
    says: "the poll could not be made: EIO",
  },
];

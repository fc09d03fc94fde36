import { tokenRequests } from "../../features/auth/oauth2.ts";
import { QUOTA_PROOF, SPEND_PROOF } from "../../features/quota/proof.ts";
import type { SendersOf } from "../../kernel/budget/needs.ts";
import { type ProofPart, sendersOf as allSendersOf } from "../../proof/part.ts";

/** Each feature adds this to the proof of a config. */
export const PROOF_PARTS: readonly ProofPart[] = [QUOTA_PROOF, SPEND_PROOF, { senders: tokenRequests }];

export const sendersOf: SendersOf = (upstreams) => allSendersOf(upstreams, PROOF_PARTS);

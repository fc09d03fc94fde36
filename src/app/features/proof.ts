import { tokenRequests } from "../../features/auth/oauth2.ts";
import { MONEY_PROOF } from "../../features/money/proof.ts";
import { QUOTA_PROOF } from "../../features/quota/proof.ts";
import type { SendersOf } from "../../kernel/budget/needs.ts";
import { type ProofPart, sendersOf as allSendersOf } from "../../proof/part.ts";

/** What each feature knows of a config that is proved. */
export const PROOF_PARTS: readonly ProofPart[] = [QUOTA_PROOF, MONEY_PROOF, { senders: tokenRequests }];

export const sendersOf: SendersOf = (upstreams) => allSendersOf(upstreams, PROOF_PARTS);

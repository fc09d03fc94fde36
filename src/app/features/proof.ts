import { tokenRequests } from "../../features/auth/oauth2.ts";
import { MONEY_PROOF } from "../../features/money/proof.ts";
import { QUOTA_PROOF } from "../../features/quota/proof.ts";
import type { ProofPart } from "../../proof/part.ts";

/** What each feature knows of a config that is proved. */
export const PROOF_PARTS: readonly ProofPart[] = [QUOTA_PROOF, MONEY_PROOF, { senders: tokenRequests }];

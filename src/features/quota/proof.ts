import type { QuotaProof } from "../../proof/numbers.ts";
import type { ProofPart } from "../../proof/part.ts";

declare module "../../proof/numbers.ts" {
  interface BudgetProof {
    readonly quota?: QuotaProof | undefined;
  }
}

export const QUOTA_PROOF: ProofPart = {
  quota: {
    kind: "quota",
    of: ({ quota }) => quota,
    unitsOf: () => 1,
    format: String,
    unit: () => "requests",
  },
};

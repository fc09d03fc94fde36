/** Why something cannot be used as it is configured: one sentence for each fault. */
export type Refused = {
  readonly kind: "refused";
  readonly faults: readonly string[];
  /** The config itself is wrong: no restart mends it. */
  readonly isForGood?: boolean;
};

/** Something that the config names, ready for use, or every fault that keeps it from being used. */
export type Opened<What> = { readonly kind: "opened"; readonly what: What } | Refused;

/** Requests of the contract, in the order to try them. */
export const MODERATIONS_EXAMPLES = {
  named: { model: "moderation", input: ["A text to look at."] },
  default: { input: "A text to look at." },
} as const;

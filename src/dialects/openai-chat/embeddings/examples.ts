/** Requests of the contract, in the order to try them. */
export const EMBEDDINGS_EXAMPLES = {
  one: { model: "embed-small", input: "A text.", dimensions: 512 },
  batch: { model: "embed-small", input: ["One text.", "Another."], encoding_format: "base64", on_partial: "report" },
} as const;

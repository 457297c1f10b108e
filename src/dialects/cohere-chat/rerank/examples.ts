/** Requests of the contract, in the order to try them. */
export const RERANK_EXAMPLES = {
  plain: {
    model: "rerank",
    query: "When is rent due?",
    documents: ["Rent is due on the first of a month.", "Pets are allowed."],
    top_n: 1,
    return_documents: true,
  },
} as const;

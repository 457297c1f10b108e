import type { FieldRegistry } from "../../fields.ts";

/** Every top-level member of a rerank request that we know. */
export const RERANK_FIELDS: FieldRegistry = {
  model: { class: "core" },
  query: { class: "core" },
  documents: { class: "core" },
  top_n: { class: "core" },
  top_k: { class: "core" },
  return_documents: { class: "core" },
  max_tokens_per_doc: { class: "core", uses: "document_limit" },
  truncation: { class: "core" },
  rank_fields: { class: "core" },
  max_chunks_per_doc: { class: "core" },
  relevant_spans: { class: "core" },
  priority: { class: "hint" },
  user: { class: "identity" },
  provider: { class: "ours" },
};

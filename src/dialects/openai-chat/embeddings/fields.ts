import type { FieldRegistry } from "../../fields.ts";

/** Every top-level member of an embeddings request that we know. */
export const EMBEDDINGS_FIELDS: FieldRegistry = {
  model: { class: "core" },
  input: { class: "core" },
  dimensions: { class: "core" },
  output_dimension: { class: "core" },
  encoding_format: { class: "core" },
  input_type: { class: "core", uses: "input_purpose" },
  truncation: { class: "core" },
  output_dtype: { class: "core" },
  on_partial: { class: "ours" },
  user: { class: "identity" },
  provider: { class: "ours" },
};

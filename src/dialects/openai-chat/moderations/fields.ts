import type { FieldRegistry } from "../../fields.ts";

/** Every top-level member of a moderations request that we know. */
export const MODERATIONS_FIELDS: FieldRegistry = {
  model: { class: "core" },
  input: { class: "core" },
  user: { class: "identity" },
  provider: { class: "ours" },
};

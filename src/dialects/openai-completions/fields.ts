import type { FieldRegistry } from "../fields.ts";

/** Every known top-level member of a legacy completions request (docs/protocols.md#classes-of-request-members). */
export const COMPLETIONS_FIELDS: FieldRegistry = {
  model: { class: "core" },
  prompt: { class: "core" },
  stream: { class: "core" },
  stream_options: { class: "core" },
  suffix: { class: "core", uses: "native_completions" },
  echo: { class: "core", uses: "native_completions" },
  best_of: { class: "core" },
  n: { class: "core" },
  logprobs: { class: "core", needs: "logprobs", uses: "native_completions" },
  max_tokens: { class: "core" },
  temperature: { class: "core", uses: "sampling" },
  top_p: { class: "core", uses: "sampling" },
  frequency_penalty: { class: "core" },
  presence_penalty: { class: "core" },
  logit_bias: { class: "core" },
  seed: { class: "core", uses: "seed" },
  stop: { class: "core" },
  user: { class: "identity" },
  provider: { class: "ours" },
};

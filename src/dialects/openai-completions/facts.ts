import { type DialectFacts, SAMPLING, PLAIN_FACTS, PLAIN_RULES } from "../dialect.ts";
import {
  DEPLOYMENT_PATHS,
  NO_LOGIT_BIAS,
  NO_SEED,
  NO_STREAM_OPTIONS,
} from "../openai-chat/facts.ts";

/** Legacy completions of a plain prompt. */
export const OPENAI_COMPLETIONS = {
  ...PLAIN_FACTS,
  operations: ["generate"],
  expresses: ["logprobs", "multiple_choices"],
  features: ["native_completions", ...SAMPLING, "stop_sequences", "stop_sequences_blank"],
  optional: ["stop_sequences_over_4"],
  flags: {
    no_stream_options: NO_STREAM_OPTIONS,
    no_seed: NO_SEED,
    no_logit_bias: NO_LOGIT_BIAS,
    deployment_paths: DEPLOYMENT_PATHS,
  },
  supportsApiVersion: true,
  requires: {
    ...PLAIN_RULES,
    supportsCacheMarks: false,
    supportsAuthorNames: false,
    // One prompt has no tools, results or schemas.
    toolName: /^\w{1,64}$/,
  },
} as const satisfies DialectFacts;

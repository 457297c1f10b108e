import { type DialectFacts, SAMPLING } from "../dialect-facts.ts";
import {
  DEPLOYMENT_PATHS,
  NO_LOGIT_BIAS,
  NO_SEED,
  NO_STREAM_OPTIONS,
} from "../openai-chat/facts.ts";

/** Legacy completions of a plain prompt. */
export const OPENAI_COMPLETIONS = {
  operations: ["generate"],
  expresses: ["logprobs", "multiple_choices"],
  features: ["native_completions", ...SAMPLING, "stop_sequences", "stop_sequences_blank"],
  optional: ["stop_sequences_over_4"],
  takesBudgets: false,
  takesBetas: false,
  signs: false,
  flags: {
    no_stream_options: NO_STREAM_OPTIONS,
    no_seed: NO_SEED,
    no_logit_bias: NO_LOGIT_BIAS,
    deployment_paths: DEPLOYMENT_PATHS,
  },
  takesApiVersion: true,
  demandsOutputLimit: false,
  requires: {
    // One prompt has no tools, results or schemas.
    toolName: /^\w{1,64}$/,
    callId: /^/,
    refusedText: null,
    takesReasoning: () => false,
    opensWithUser: false,
    trimsPrefill: false,
    resultFilesApart: false,
    schemas: null,
    reasoningFixesSampling: () => false,
    temperatureExcludesTopP: false,
  },
} as const satisfies DialectFacts;

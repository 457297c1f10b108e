/**
 * Named deviations that several of OpenAI's protocols have (docs/protocols.md#openai-compatible-providers). A flag stands here because a
 * provider needs it, never for a vendor as a whole: which vendor needs which is said in docs/providers.md and in routes.yaml.
 */
export const NO_STREAM_OPTIONS = {
  meaning: "Leaves `stream_options` out, for providers that refuse the member.",
  withdraws: [],
} as const;

export const DEPLOYMENT_PATHS = {
  meaning:
    "Calls `/deployments/{upstream_model}/…` after `base_url`, as Azure OpenAI does outside its `v1` path. Needs `api_version`.",
  withdraws: [],
  demandsApiVersion: true,
} as const;

export const NO_SEED = { meaning: "Has no `seed`: requests that set one are refused.", withdraws: ["seed"] } as const;

export const NO_LOGIT_BIAS = {
  meaning: "Has no `logit_bias`: requests that set one are refused.",
  withdraws: ["logit_bias"],
} as const;

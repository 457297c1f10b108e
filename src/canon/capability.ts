/**
 * What a request may require beyond text in and text out. One union for the table, the request, the
 * dialects and the policies.
 *
 * `declared`: a model row must list it, otherwise the route does not have it (400
 * `capability_not_supported`). `approved`: a workspace must approve it as well, otherwise the
 * request is denied (403).
 */
export const CAPABILITIES = {
  tools: { declared: true, approved: true },
  custom_tools: { declared: true, approved: true },
  json_schema: { declared: true, approved: true },
  json_object: { declared: true, approved: true },
  image_input: { declared: true, approved: true },
  audio_input: { declared: true, approved: true },
  video_input: { declared: true, approved: true },
  file_input: { declared: true, approved: true },
  audio_output: { declared: true, approved: true },
  image_output: { declared: true, approved: true },
  reasoning: { declared: true, approved: true },
  web_search: { declared: true, approved: true },
  file_search: { declared: true, approved: true },
  code_execution: { declared: true, approved: true },
  computer_use: { declared: true, approved: true },
  mcp: { declared: true, approved: true },
  logprobs: { declared: true, approved: false },
  multiple_choices: { declared: true, approved: false },
  predicted_output: { declared: true, approved: false },
  prefill: { declared: true, approved: false },
} as const satisfies Record<string, { readonly declared: boolean; readonly approved: boolean }>;

export type Capability = keyof typeof CAPABILITIES;

/** Every capability, in the order of the table above. */
export const CAPABILITY_NAMES: readonly Capability[] =
  Object.keys(CAPABILITIES).filter(isCapability);

export function isCapability(value: string): value is Capability {
  return Object.hasOwn(CAPABILITIES, value);
}

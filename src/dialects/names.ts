import type { Capability } from "../canon/capability.ts";
import type { ModelOperation } from "../canon/operation.ts";

/** What the compiler needs to know of a wire protocol without loading its translator. */
export interface DialectFacts {
  readonly operations: readonly ModelOperation[];
  /** Capabilities that the protocol can carry; a model's others do not exist on its endpoints. */
  readonly expresses: readonly Capability[];
  /** Named deviations that a provider row may declare, each with its one-line meaning. */
  readonly flags: Readonly<Record<string, string>>;
  /** Whether a request without an output limit is refused by everybody who speaks the protocol. */
  readonly demandsOutputLimit: boolean;
}

/** One row a wire protocol. Vendors are rows of routes.yaml, never of this table. */
export const DIALECTS = {
  "openai-chat": {
    operations: ["generate"],
    expresses: [
      "tools",
      "custom_tools",
      "json_schema",
      "json_object",
      "image_input",
      "audio_input",
      "video_input",
      "file_input",
      "audio_output",
      "reasoning",
      "web_search",
      "logprobs",
      "multiple_choices",
      "predicted_output",
    ],
    flags: {
      no_store_field: "Leaves `store: false` out, for providers that refuse the member and store nothing.",
      no_stream_options: "Leaves `stream_options` out, for providers that refuse the member.",
    },
    demandsOutputLimit: false,
  },
} as const satisfies Record<string, DialectFacts>;

export type DialectName = keyof typeof DIALECTS;

export function isDialectName(value: string): value is DialectName {
  return Object.hasOwn(DIALECTS, value);
}

import { CAPABILITY_NAMES } from "../canon/capability.ts";
import type { JsonObject } from "../canon/json.ts";
import { OPERATIONS } from "../canon/operation.ts";
import type { PolicyCandidate, PolicyInput } from "../canon/policy.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../canon/request.ts";
import { RETENTIONS } from "../canon/table.ts";

/** One schema a member: a member that the type has and the schema lacks does not compile. */
type SchemasOf<Value> = { readonly [Name in keyof Value]: JsonObject };

function object<Value>(description: string, properties: SchemasOf<Value>): JsonObject {
  return {
    type: "object",
    description,
    additionalProperties: false,
    required: Object.keys(properties),
    properties: { ...properties },
  };
}

const text = (description: string): JsonObject => ({ type: "string", description });
const word = (description: string, words: readonly string[]): JsonObject => ({
  type: "string",
  description,
  enum: [...words],
});
const list = (description: string, items: JsonObject): JsonObject => ({ type: "array", description, items });
const truth = (description: string): JsonObject => ({ type: "boolean", description });

const capability = word("A capability.", CAPABILITY_NAMES);

const candidate = object<PolicyCandidate>("An endpoint that the request may go to.", {
  id: text("Endpoint id; what `pass.<constraint> contains` lists."),
  rank: word("`primary` is the route's first choice.", ["primary", "fallback"]),
  model: text("Model id."),
  provider: text("Provider id."),
  region: text("Region that processes the request."),
  dialect: text("Wire protocol."),
  retention: word("How long the provider keeps what it is sent.", RETENTIONS),
  trains_on_data: truth("Whether the provider trains on what it is sent."),
  capabilities: list("What the endpoint can do.", capability),
  signature_family: text("Who can read its signed reasoning; `none` where it signs nothing."),
});

/**
 * JSON Schema (draft 2020-12, of which OPA's checker reads types and members) of {@link PolicyInput}: what a policy may
 * read. A path outside of it is refused when policies are compiled.
 */
export const POLICY_INPUT_SCHEMA: JsonObject = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Input of a Signalbox policy",
  ...object<PolicyInput>("What a policy may know of a request: words of closed vocabularies, booleans and buckets.", {
    operation: word("What is asked for.", OPERATIONS),
    workspace: object<PolicyInput["workspace"]>("The tenant.", {
      id: text("Workspace id."),
      tier: text("Its tier, as routes.yaml names it."),
      labels: list("Its labels.", text("A word of vocabulary.labels.")),
    }),
    key: object<PolicyInput["key"]>("The service key. A word outside the vocabulary reads `other`.", {
      environment: text("A word of vocabulary.environments."),
      workload: text("A word of vocabulary.workloads."),
      labels: list("Its labels.", text("A word of vocabulary.labels.")),
    }),
    request: object<PolicyInput["request"]>("The shape of the request; nothing of its content.", {
      route: text("Route id."),
      needs: list("Capabilities that the request needs.", capability),
      stream: truth("Whether the answer is streamed."),
      context: word("Estimated size of the input in tokens.", TOKEN_BUCKETS),
      max_output: word("The most output allowed, in tokens.", TOKEN_BUCKETS),
      reasoning_effort: word("How much reasoning was asked for.", REASONING_EFFORTS),
      dimensions: { type: "integer", description: "Vector length asked for; 0 where none was." },
      allow_fallbacks: truth("Whether the caller allows fallbacks."),
      data_collection: word("Whether the caller allows providers that collect data.", ["allow", "deny"]),
      zdr: truth("Whether the caller asks for zero data retention."),
    }),
    candidates: list("Where the request may go, in the order to try.", candidate),
  }),
};

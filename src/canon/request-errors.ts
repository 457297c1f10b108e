import { INVALID, type ErrorRow } from "./error.ts";

const IN_BODY = { ...INVALID, at: ["with_body"] } as const;
const IN_HEADER = { ...INVALID, at: ["inference"] } as const;
/** Found by the parser of the caller's protocol. */
const PARSED = { ...INVALID, at: ["inference", "simulateRoute"] } as const;

/** The request cannot be read, or requires a feature that no endpoint of its route has. */
export const REQUEST_ERRORS = {
  invalid_json: {
    ...IN_BODY,
    meaning: "The body is not one JSON object in UTF-8, or it names a member twice.",
    example: '`{"model": "chat-small",` with the rest cut off.',
    fix: "Send one whole JSON object.",
  },
  invalid_form: {
    ...INVALID,
    at: ["exchangeKey"],
    meaning: "A body that was sent as a form cannot be read as one.",
    example: "A token exchange whose form repeats a member.",
    fix: "Send each member once, or send JSON.",
  },
  invalid_body: {
    ...IN_BODY,
    meaning: "The body does not match the contract of the endpoint.",
    example: "A body with a shape that /openapi.json does not describe.",
    fix: "Compare it with the endpoint's schema in /openapi.json.",
  },
  invalid_type: {
    ...IN_BODY,
    meaning: "A member has the wrong JSON type; `param` names it.",
    example: '`"max_tokens": "100"`.',
    fix: "Send the type that /openapi.json names.",
  },
  invalid_value: {
    ...INVALID,
    at: ["with_body", "query"],
    meaning: "A member or query parameter has a value that is not allowed; `param` names it.",
    example: '`"temperature": 9`.',
    fix: "Use one of the values, or a value within the bounds, that the message names.",
  },
  missing_field: {
    ...IN_BODY,
    meaning: "A required member is missing; `param` names it.",
    example: "A chat completion without `messages`.",
    fix: "Add it.",
  },
  unknown_field: {
    ...IN_BODY,
    meaning:
      "The body has a member that the contract does not have; `param` names it where it looks like a name.",
    example: '`"max_token": 100`.',
    fix: "Correct its spelling or leave it out.",
  },
  unknown_parameter: {
    ...INVALID,
    at: ["reading"],
    meaning:
      "The endpoint does not have this query parameter; or a provider refused a member of the body as unknown.",
    example: "`GET /v1/governance/summary?groupby=key`.",
    fix: "Correct its spelling or leave it out.",
  },
  conflicting_fields: {
    ...PARSED,
    meaning: "Two members contradict each other.",
    example: "`response_format` and `text.format` in one request.",
    fix: "Send one of them.",
  },
  too_deeply_nested: {
    ...IN_BODY,
    meaning: "The body is nested deeper than any request needs.",
    example: "A list in a list, a thousand times.",
    fix: "Send a flatter body.",
  },
  empty_input: {
    ...PARSED,
    meaning: "The request has no input to embed, rank or moderate.",
    example: '`"input": []`.',
    fix: "Send at least one input.",
  },
  client_closed: {
    ...INVALID,
    at: [],
    meaning:
      "The caller closed the connection before the answer. Only the evidence shows this code.",
    example: "A client whose own timeout was shorter than the provider's answer.",
    fix: "Wait longer in the client, or set `x-request-timeout-ms`.",
  },
  invalid_stream_options: {
    ...PARSED,
    meaning: "The request has `stream_options` without `stream: true`.",
    example: '`"stream_options": {"include_usage": true}` and no `stream`.',
    fix: 'Add `"stream": true`, or leave it out.',
  },
  unknown_content_part: {
    ...PARSED,
    meaning: "A part of a message is of a type that the surface does not have.",
    example: '`{"type": "hologram"}` in `content`.',
    fix: "Use a type of /openapi.json.",
  },
  unknown_item_type: {
    ...PARSED,
    meaning: "An item of `input` is of a type that the responses surface does not have.",
    example: '`{"type": "wish"}` in `input`.',
    fix: "Use a type of /openapi.json.",
  },
  unknown_tool_type: {
    ...PARSED,
    meaning: "A tool is of a type that the surface does not have.",
    example: '`{"type": "oracle"}` in `tools`.',
    fix: "Use a type of /openapi.json.",
  },
  unknown_tool_call: {
    ...PARSED,
    meaning:
      "A tool result names no call of the conversation before it, or one that has a result, and the provider's protocol refuses that.",
    example: "A `tool` message with an unknown `tool_call_id`.",
    fix: "Send the call with its result.",
  },
  unsupported_stateful_feature: {
    ...PARSED,
    meaning:
      "The request relies on something that a provider keeps between requests. Signalbox keeps no conversations.",
    example:
      '`"previous_response_id": "resp_1"`; an `item_reference` of the AI SDK, which assumes that answers are stored unless it is configured otherwise.',
    fix: "Send the whole conversation. AI SDK: `providerOptions: { openai: { store: false } }`, in every call; with a reasoning model it also requests the reasoning that the next turn needs.",
  },
  unsupported_routing_field: {
    ...PARSED,
    meaning:
      "The request lets the provider choose a service tier or container. In Signalbox, routes and policies choose.",
    example: "`service_tier` or a container of the vendor's.",
    fix: "Leave it out; name a route as `model`.",
  },
  unsupported_region_field: {
    ...PARSED,
    meaning:
      "The request names a region of the provider. In Signalbox, routes and `provider` choose regions.",
    example: '`"inference_geo": "us"`.',
    fix: "Leave it out; use a route with the required region.",
  },
  unsupported_parameter: {
    ...PARSED,
    meaning:
      "The provider's protocol has no field for a member; or the provider refused the member.",
    example: "A sampling parameter for a model that has none.",
    fix: "Leave it out, or use another route.",
  },
  unsupported_value: {
    ...PARSED,
    meaning:
      "The provider's protocol cannot express the value of a member; or the provider refused the value.",
    example: "A penalty below zero for a protocol that starts at zero.",
    fix: "Use another value, or another route.",
  },
  unsupported_combination: {
    ...PARSED,
    meaning: "The provider's protocol cannot combine two members of the request.",
    example: "Tools together with a JSON schema, where the protocol takes one of them.",
    fix: "Leave one out, or use another route.",
  },
  unsupported_version: {
    ...PARSED,
    meaning: "`anthropic-version` names a version that the messages surface does not support.",
    example: "`anthropic-version: 2020-01-01`.",
    fix: "Send `2023-06-01`.",
  },
  removed_in_version: {
    ...PARSED,
    meaning: "A member was removed from the version of the protocol that the request names.",
    example: "A member of an old beta together with a version that no longer has it.",
    fix: "Use the member that replaced it; the message names it.",
  },
  missing_output_limit: {
    ...PARSED,
    meaning:
      "The provider's protocol demands an output limit, and neither the request nor routes.yaml has one.",
    example: "A request without `max_tokens` to a model without `default_max_output_tokens`.",
    fix: "Send a limit; operators set `default_max_output_tokens` on the model.",
  },
  invalid_file_data: {
    ...PARSED,
    meaning: "The data URL of a file or an image cannot be read.",
    example: "`data:application/pdf,` without base64.",
    fix: "Send base64 with its media type.",
  },
  invalid_reasoning_budget: {
    ...PARSED,
    meaning: "A budget of reasoning does not fit the provider's bounds or the output limit.",
    example: "A budget above `max_tokens`.",
    fix: "Lower the budget or raise the output limit.",
  },
  invalid_seed: {
    ...PARSED,
    meaning: "The seed is out of the range of the provider's protocol.",
    example: "A seed above 2147483647.",
    fix: "Use a smaller seed.",
  },
  invalid_tool_arguments: {
    ...PARSED,
    meaning:
      "The arguments of a tool call in the conversation are not JSON, and the provider's protocol takes only JSON.",
    example: '`"arguments": "{"` in an earlier turn.',
    fix: "Send the arguments as the model wrote them, whole.",
  },
  unsupported_schema: {
    ...PARSED,
    meaning:
      "The answer's schema has an object with members that it does not name, which the provider's protocol refuses.",
    example: '`{"type": "object"}` without `properties`, inside a schema for an Anthropic model.',
    fix: "List the members of each object, and leave `additionalProperties` out.",
  },
  too_many_stop_sequences: {
    ...PARSED,
    meaning: "There are more stop sequences than the provider's protocol takes.",
    example: "Six of them, where five are allowed.",
    fix: "Send fewer.",
  },
  invalid_timeout: {
    ...IN_HEADER,
    meaning: "`x-request-timeout-ms` is not a whole number of milliseconds from 1.",
    example: "`x-request-timeout-ms: 5s`.",
    fix: "Send a whole number, such as `5000`.",
  },
  invalid_max_attempts: {
    ...IN_HEADER,
    meaning: "`x-max-attempts` is not a whole number from 1.",
    example: "`x-max-attempts: 0`.",
    fix: "Send a whole number from 1.",
  },
  invalid_max_batch_size: {
    ...IN_HEADER,
    meaning: "`x-max-batch-size` is not a whole number from 1.",
    example: "`x-max-batch-size: all`.",
    fix: "Send a whole number from 1.",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;

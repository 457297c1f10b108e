import { INVALID, errorAt } from "./error.ts";

const inBody = errorAt(INVALID, "with_body");
const inHeader = errorAt(INVALID, "inference");
/** Found by the parser of the caller's protocol. */
const parsed = errorAt(INVALID, "inference", "simulateRoute");

/** The request cannot be read, or requires a feature that no endpoint of its route has. */
export const REQUEST_ERRORS = {
  invalid_json: inBody(
    "The body is not one JSON object in UTF-8, or it names a member twice.",
    '`{"model": "chat-small",` with the rest cut off.',
    "Send one whole JSON object.",
  ),
  invalid_form: errorAt(INVALID, "exchangeKey")(
    "A body that was sent as a form cannot be read as one.",
    "A token exchange whose form repeats a member.",
    "Send each member once, or send JSON.",
  ),
  invalid_body: inBody(
    "The body does not match the contract of the endpoint.",
    "A body with a shape that /openapi.json does not describe.",
    "Compare it with the endpoint's schema in /openapi.json.",
  ),
  invalid_type: inBody(
    "A member has the wrong JSON type; `param` names it.",
    '`"max_tokens": "100"`.',
    "Send the type that /openapi.json names.",
  ),
  invalid_value: errorAt(INVALID, "with_body", "query")(
    "A member or query parameter has a value that is not allowed; `param` names it.",
    '`"temperature": 9`.',
    "Use one of the values, or a value within the bounds, that the message names.",
  ),
  missing_field: inBody(
    "A required member is missing; `param` names it.",
    "A chat completion without `messages`.",
    "Add it.",
  ),
  unknown_field: inBody(
    "The body has a member that the contract does not have; `param` names it where it looks like a name.",
    '`"max_token": 100`.',
    "Correct its spelling or leave it out.",
  ),
  unknown_parameter: errorAt(INVALID, "reading")(
    "The endpoint does not have this query parameter; or a provider refused a member of the body as unknown.",
    "`GET /v1/governance/summary?groupby=key`.",
    "Correct its spelling or leave it out.",
  ),
  conflicting_fields: parsed(
    "Two members contradict each other.",
    "`response_format` and `text.format` in one request.",
    "Send one of them.",
  ),
  too_deeply_nested: inBody(
    "The body is nested deeper than any request needs.",
    "A list in a list, a thousand times.",
    "Send a flatter body.",
  ),
  empty_input: parsed(
    "The request has no input to embed, rank or moderate.",
    '`"input": []`.',
    "Send at least one input.",
  ),
  client_closed: errorAt(INVALID)(
    "The caller closed the connection before the answer. Only the evidence shows this code.",
    "A client whose own timeout was shorter than the provider's answer.",
    "Wait longer in the client, or set `x-request-timeout-ms`.",
  ),
  invalid_stream_options: parsed(
    "The request has `stream_options` without `stream: true`.",
    '`"stream_options": {"include_usage": true}` and no `stream`.',
    'Add `"stream": true`, or leave it out.',
  ),
  unknown_content_part: parsed(
    "A part of a message is of a type that the surface does not have.",
    '`{"type": "hologram"}` in `content`.',
    "Use a type of /openapi.json.",
  ),
  unknown_item_type: parsed(
    "An item of `input` is of a type that the responses surface does not have.",
    '`{"type": "wish"}` in `input`.',
    "Use a type of /openapi.json.",
  ),
  unknown_tool_type: parsed(
    "A tool is of a type that the surface does not have.",
    '`{"type": "oracle"}` in `tools`.',
    "Use a type of /openapi.json.",
  ),
  unknown_tool_call: parsed(
    "A tool result names no call of the conversation before it, or one that has a result, and the provider's protocol refuses that.",
    "A `tool` message with an unknown `tool_call_id`.",
    "Send the call with its result.",
  ),
  unsupported_stateful_feature: parsed(
    "The request relies on something that a provider keeps between requests. Signalbox keeps no conversations.",
    '`"previous_response_id": "resp_1"`; an `item_reference` of the AI SDK, which assumes that answers are stored unless it is configured otherwise.',
    "Send the whole conversation. AI SDK: `providerOptions: { openai: { store: false } }`, in every call; with a reasoning model it also requests the reasoning that the next turn needs.",
  ),
  unsupported_routing_field: parsed(
    "The request lets the provider choose a service tier or container. In Signalbox, routes and policies choose.",
    "`service_tier` or a container of the vendor's.",
    "Leave it out; name a route as `model`.",
  ),
  unsupported_region_field: parsed(
    "The request names a region of the provider. In Signalbox, routes and `provider` choose regions.",
    '`"inference_geo": "us"`.',
    "Leave it out; use a route with the required region.",
  ),
  unsupported_parameter: parsed(
    "The provider's protocol has no field for a member; or the provider refused the member.",
    "A sampling parameter for a model that has none.",
    "Leave it out, or use another route.",
  ),
  unsupported_value: parsed(
    "The provider's protocol cannot express the value of a member; or the provider refused the value.",
    "A penalty below zero for a protocol that starts at zero.",
    "Use another value, or another route.",
  ),
  unsupported_combination: parsed(
    "The provider's protocol cannot combine two members of the request.",
    "Tools together with a JSON schema, where the protocol takes one of them.",
    "Leave one out, or use another route.",
  ),
  unsupported_version: parsed(
    "`anthropic-version` names a version that the messages surface does not support.",
    "`anthropic-version: 2020-01-01`.",
    "Send `2023-06-01`.",
  ),
  removed_in_version: parsed(
    "A member was removed from the version of the protocol that the request names.",
    "A member of an old beta together with a version that no longer has it.",
    "Use the member that replaced it; the message names it.",
  ),
  missing_output_limit: parsed(
    "The provider's protocol demands an output limit, and neither the request nor routes.yaml has one.",
    "A request without `max_tokens` to a model without `default_max_output_tokens`.",
    "Send a limit; operators set `default_max_output_tokens` on the model.",
  ),
  invalid_file_data: parsed(
    "The data URL of a file or an image cannot be read.",
    "`data:application/pdf,` without base64.",
    "Send base64 with its media type.",
  ),
  invalid_reasoning_budget: parsed(
    "A budget of reasoning does not fit the provider's bounds or the output limit.",
    "A budget above `max_tokens`.",
    "Lower the budget or raise the output limit.",
  ),
  invalid_seed: parsed(
    "The seed is out of the range of the provider's protocol.",
    "A seed above 2147483647.",
    "Use a smaller seed.",
  ),
  invalid_tool_arguments: parsed(
    "The arguments of a tool call in the conversation are not JSON, and the provider's protocol takes only JSON.",
    '`"arguments": "{"` in an earlier turn.',
    "Send the arguments as the model wrote them, whole.",
  ),
  unsupported_schema: parsed(
    "The answer's schema has an object with members that it does not name, which the provider's protocol refuses.",
    '`{"type": "object"}` without `properties`, inside a schema for an Anthropic model.',
    "List the members of each object, and leave `additionalProperties` out.",
  ),
  too_many_stop_sequences: parsed(
    "There are more stop sequences than the provider's protocol takes.",
    "Six of them, where five are allowed.",
    "Send fewer.",
  ),
  invalid_timeout: inHeader(
    "`x-request-timeout-ms` is not a whole number of milliseconds from 1.",
    "`x-request-timeout-ms: 5s`.",
    "Send a whole number, such as `5000`.",
  ),
  invalid_max_attempts: inHeader(
    "`x-max-attempts` is not a whole number from 1.",
    "`x-max-attempts: 0`.",
    "Send a whole number from 1.",
  ),
  invalid_max_batch_size: inHeader(
    "`x-max-batch-size` is not a whole number from 1.",
    "`x-max-batch-size: all`.",
    "Send a whole number from 1.",
  ),
} as const;

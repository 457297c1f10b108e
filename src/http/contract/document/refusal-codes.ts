/** Codes of the 400 that says what is wrong with a body, for every endpoint that reads one. */
export const BODY_CODES = {
  invalid_json: "The body is not a JSON object in UTF-8, or names a member twice where that is refused.",
  invalid_body: "The body does not match the contract.",
  too_deeply_nested: "The body is nested too deeply.",
  missing_field: "A member that is required is missing; `param` names it.",
  unknown_field: "There is no member of this name; `param` names it where it looks like a name.",
  invalid_type: "A member has a value of another type; `param` names it.",
  invalid_value: "A member has a value that it may not have; `param` names it.",
} as const;

/** Codes of the 400 that says what of a request of inference cannot be taken, or cannot be said to its route. */
export const INFERENCE_CODES = {
  conflicting_fields: "Two members say different things.",
  empty_input: "An input has nothing in it.",
  invalid_file_data: "A file's data cannot be read.",
  invalid_reasoning_budget: "The reasoning budget does not fit the output limit.",
  invalid_seed: "The seed is not one that the provider takes.",
  invalid_stream_options: "stream_options stands without stream.",
  invalid_tool_arguments: "The arguments of a call in the history are no JSON object.",
  missing_output_limit: "The provider needs an output limit, and neither request nor model has one.",
  removed_in_version: "The protocol version asked for does not have the member any more.",
  too_many_stop_sequences: "The provider takes fewer stop sequences.",
  unknown_content_part: "There is no part of a message of this type.",
  unknown_item_type: "There is no item of this type.",
  unknown_tool_call: "A result answers a call that is not in the history.",
  unknown_tool_type: "There is no tool of this type.",
  unsupported_combination: "Two members cannot be said to the provider together.",
  unsupported_parameter: "The provider's protocol has no place for the member.",
  unsupported_region_field: "Regions are chosen by the route and by `provider`, not by this member.",
  unsupported_routing_field: "Where a request goes is decided here, not by this member.",
  unsupported_stateful_feature: "The router keeps nothing, so everything has to stand in the request.",
  unsupported_value: "The provider's protocol has no word for the value.",
  unsupported_version: "The router does not know the protocol version asked for.",
} as const;

/** Codes of the 409 with which a change of a policy is refused. */
export const CONFLICT_CODES = {
  held: "What was rolled back is held; release it first.",
  approvals_required: "Approvals are missing; `missing` says which.",
  soak_not_met: "The candidate has not been in shadow for long enough; `missing` says how long.",
  decisions_required: "The candidate has not judged enough requests; `missing` says how many.",
  indeterminate_seen: "The candidate came to no verdict on some requests; `missing` says on how many.",
  report_required: "No approval has a complete simulation report that the server has verified.",
  assertions_not_passed: "No approval has a verified report whose assertions passed.",
  nothing_to_roll_back_to: "Nothing was enforced before.",
  not_held: "The content is neither held nor withdrawn.",
  not_approved: "No approval of this content by the caller stands.",
  content_not_kept: "The bytes of the content are not kept; bring it back by its files.",
  busy: "Too many change policies at the same time; nothing was done.",
} as const;

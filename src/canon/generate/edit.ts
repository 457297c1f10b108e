import { remember } from "../remember.ts";

/**
 * Fields that a translation leaves out or changes because the answer does not depend on them
 * (docs/protocols.md#what-a-protocol-carries). These values are in the evidence and
 * `docs/translation-matrix.md`; nothing else is left out.
 */
export const DROPPED_FIELDS = {
  turns_merged: "Consecutive turns of one role were sent as one",
  system_joined: "Several leading system messages were sent as one list",
  developer_as_system: "Developer text was sent as system text, or the other way round",
  empty_member_dropped: "A member that held nothing but null or empty lists was left out",
  repeated_member_dropped: "A member that repeated another one was left out",
  empty_text_dropped: "Empty text was left out",
  participant_name_dropped: "The name of a message's author was left out",
  parts_reordered: "Text or reasoning that followed a tool call was put before it",
  item_id_dropped: "Ids and states of items in the history were left out",
  message_phase_dropped: "The phase of an assistant message was left out",
  cache_mark_dropped: "Prompt cache marks were left out",
  cache_hint_dropped: "Prompt cache keys and options were left out",
  service_tier_changed: "The service tier was mapped to the nearest value, or left out",
  seed_dropped: "A seed, which is best effort wherever it is taken, was left out",
  stops_by_router: "The router ends the answer at stop sequences that the endpoint does not take",
  hint_dropped: "A member that is only a hint to the provider was left out",
  image_detail_dropped: "The image detail `auto` was left out",
  file_name_dropped: "A file's name was left out",
  file_name_made: "A file without a name was given one",
  file_name_changed:
    "A file's name was written in the characters that the protocol takes, or made unlike another one",
  call_ids_rewritten: "Ids of tool calls were rewritten, consistently within the request",
  tool_error_flag_dropped: "The mark that a tool result is an error was left out",
  allowed_tools_filtered: "Only the allowed tools were sent",
  tools_withheld: "Tools that must not be called were not sent",
  tool_placeholder_sent:
    "A tool that cannot be called was sent, because the protocol wants one where the history has calls",
  tool_arguments_normalised: "Tool arguments were printed anew as JSON",
  schema_name_dropped: "A schema's name, description or strictness was left out",
  schema_name_made: "A schema without a name was given one",
  schema_emulated: "The response schema, or an answer in JSON, was requested as a tool",
  effort_as_budget:
    "The reasoning effort was sent as a budget of tokens, by the table in routes.yaml",
  effort_member_renamed:
    "The member `reasoning.effort` of a chat completions request was read as `reasoning_effort`",
  budget_as_effort: "The reasoning budget was sent as an effort, by the table in routes.yaml",
  reasoning_turned_off:
    "Reasoning was turned off, because the history has tool calls without the reasoning that led to them, and the model refuses to begin in between",
  reasoning_display_dropped: "How reasoning is shown or summarised was left out",
  unsigned_reasoning_dropped: "Reasoning without a signature was left out of the history",
  refusal_as_text: "A refusal in the history or in the answer was sent as text",
  citations_dropped: "Citations in the history or in the answer were left out",
  logprobs_dropped: "Log probabilities in the history were left out",
  prompt_as_message: "A prompt was sent as a user message, or the other way round",
  output_limit_defaulted: "The model's default output limit was sent",
  output_limit_raised: "An output limit below the least that the protocol takes was raised to it",
  reasoning_dropped: "Reasoning in the answer was left out",
  tool_call_dropped:
    "A tool call in an answer that was cut short was left out, because the surface has none",
  not_counted: "Members that the provider's token counter does not take were left out of the count",
  signature_dropped: "A signature of reasoning was left out of the answer",
  single_call_unspoken:
    "The provider's protocol cannot express that the only tool may be called once at a time",
  answer_members_dropped:
    "Members of the answer that only its provider has were left out, because it was written anew",
  further_calls_dropped:
    "Tool calls beyond the first, which the request had switched off, were left out of the answer",
  usage_hidden: "Details of usage that the surface has no member for were left out",
  usage_unknown:
    "Counts that the provider did not give read 0, because the surface's clients demand numbers",
  stop_sequence_unnamed: "The answer does not say which stop sequence ended it",
  top_p_limited:
    "A `top_p` of 1, which limits nothing, was sent as the most that the protocol takes",
  tool_strictness_widened:
    "Tools that were not strict were sent as strict, because all of a request's are or none",
  logprobs_coarser: "Log probabilities came without alternatives, or for several tokens together",
  signature_placeholder:
    "A tool call of the history without a signature was sent with the provider's mark for such calls",
  result_files_apart: "Images and files of a tool's result were sent apart from its text",
  image_detail_for_all: "One image detail was sent for all images of the request",
  prefill_as_turn:
    "The beginning of the answer was sent as a turn of the model, which may begin anew",
  token_bytes_unknown: "Log probabilities came without the bytes of their tokens",
  text_parts_joined: "Several text parts of a message were sent as one text",
  reasoning_placeholder:
    "A message of the history that had no reasoning was sent with a space for it, because the provider demands some",
  input_purpose_defaulted:
    "Inputs without an `input_type` were sent as documents, because the protocol requires a purpose",
  truncation_unspoken:
    "Whether inputs may be cut could not be expressed in the provider's protocol, so its default applies",
  document_members_dropped: "Members of documents besides `text` were not sent",
  categories_unjudged: "Categories that the model does not judge read as not flagged",
  finish_reason_unknown:
    "The provider ended the answer for a reason that the router does not know; it reads as cut short",
  unknown_content_dropped:
    "Pieces of the answer of a kind that the router does not know were left out",
  tool_names_rewritten:
    "Names of tools that the provider's protocol does not take were rewritten; the answer has the caller's names",
  results_moved: "A tool result was put directly after its call, before what stood between them",
  turn_made: "A short message was put in, because the provider demands another order of roles",
  prefill_trimmed: "White space at the end of the answer's given beginning was left out",
  media_rewritten:
    "A media type or base64 text was written as providers take it; it means the same",
  sampling_dropped:
    "Temperature, `top_p` or `top_k` was left out, because the provider refuses it beside reasoning or beside another one",
  schema_filled:
    "A tool's schema was sent with members that providers demand and that change nothing",
  schema_closed:
    "Objects of a schema were sent with `additionalProperties: false`, which the provider demands",
  schema_bounds_as_text:
    "Bounds of a schema that the provider refuses were sent as part of its descriptions",
  strictness_dropped:
    "A schema that the provider's strict mode does not take was sent without strictness",
  /** In records of earlier builds only: an answer without a finish reason is a failure now. */
  finish_synthesised:
    "Earlier builds only: the provider gave no finish reason, and `stop` was sent",
} as const satisfies Record<string, string>;

export type DroppedField = keyof typeof DROPPED_FIELDS;

/**
 * Changes of a request or an answer that keep its meaning, beside members that were taken out and
 * fields that a translation dropped (`DROPPED_FIELDS`). The values are in the header
 * `x-signalbox-edits`, in the evidence and in the contract.
 */
export const EDITS = {
  model_replaced: "`model` was sent as the provider's name of the model",
  store_false_sent: "`store: false` was sent, because the provider stores answers by default",
  usage_requested:
    "`stream_options.include_usage: true` was sent; the chunk that holds only the counts, and `usage: null` in others, is not passed on",
  output_limit_set: "A policy set or lowered the output limit",
  member_rewritten:
    "A member was sent under the name or in the form that the provider takes; it means the same",
  signatures_restored:
    "Signatures of reasoning in the history were sent as their provider wrote them",
  signatures_marked:
    "Signatures of reasoning in the answer were marked with the family that can read them",
  version_replaced: "Another protocol version than the caller's was sent in a header",
  answer_members_filled:
    "The provider left members of the answer out; they were added with their defaults",
  finish_reason_mapped: "The provider's finish reason was given as the protocol's own value for it",
  answer_rewritten:
    "The answer was read and written anew (flag `rewritten_answers`), with an id of the router's and its members in the protocol's form",
  request_id_added: "`request_id`, the id of the request at the router, was added to the response",
  batch_split: "The inputs were sent in several calls",
  encrypted_reasoning_requested:
    '`include: ["reasoning.encrypted_content"]` was sent, because the provider keeps no reasoning that a later request could name',
  translated:
    "Request and answer were translated, because the endpoint speaks another protocol or lacks the response format",
} as const satisfies Record<string, string>;

export type Edit = keyof typeof EDITS;

export const EDIT_NAMES: readonly Edit[] = Object.keys(EDITS).filter((name): name is Edit =>
  Object.hasOwn(EDITS, name),
);

/** A set of edits, one bit for each. Common sets allocate nothing per request. */
export type EditSet = number;

export const NO_EDITS: EditSet = 0;

/**
 * The set of one edit. Call it once at start, not per request.
 *
 * @example editSet("store_false_sent") // 2
 */
export function editSet(edit: Edit): EditSet {
  return 1 << EDIT_NAMES.indexOf(edit);
}

/** The edit that every native relay may make to an answer. */
export const SIGNATURES_MARKED: EditSet = editSet("signatures_marked");

const LISTS = new Map<EditSet, readonly Edit[]>();

/**
 * The edits of a set, in the order of {@link EDITS}. The same list for the same set; not frozen,
 * because it is part of records, and the engine takes twice the time to serialise an object with a
 * frozen list.
 *
 * @example editsIn(editSet("batch_split")) // ["batch_split"]
 */
export function editsIn(set: EditSet): readonly Edit[] {
  return remember(LISTS, set, () => EDIT_NAMES.filter((_, bit) => (set & (1 << bit)) !== 0));
}

/** All known differences between the caller's and the provider's view of an exchange. */
export interface AnswerEdits {
  readonly edits: EditSet;
  /** Registered names of members that were taken out of the request. */
  readonly stripped: readonly string[];
  readonly dropped: readonly DroppedField[];
}

const TEXTS = new Map<EditSet, string>();

/**
 * The value of `x-signalbox-edits` (a list of tokens, RFC 9651); `null` where nothing was changed.
 *
 * @example formatEdits({ edits: NO_EDITS, stripped: ["user"], dropped: [] }) // "stripped:user"
 */
export function formatEdits({ edits, stripped, dropped }: AnswerEdits): string | null {
  const text = remember(TEXTS, edits, () => editsIn(edits).join(", "));
  if (stripped.length === 0 && dropped.length === 0) return text === "" ? null : text;
  const items = text === "" ? [] : [text];
  for (const name of stripped) addOnce(items, `stripped:${name}`);
  for (const name of dropped) addOnce(items, name);
  return items.join(", ");
}

/** Lists of a request's edits have few items: a set for each would cost more. */
function addOnce(items: string[], item: string) {
  if (!items.includes(item)) items.push(item);
}

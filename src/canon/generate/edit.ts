import type { DroppedField } from "./dropped-field.ts";

/**
 * What the router changed in a request or an answer without changing what it says, beside the
 * members that it took out and what a translation dropped (`DROPPED_FIELDS`). The values stand in
 * the header `x-signalbox-edits`, in the evidence and in the contract.
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

/**
 * A set of edits, one bit for each. A request whose edits are common ones allocates nothing for
 * them.
 */
export type EditSet = number;

export const NO_EDITS: EditSet = 0;

/** The set of one edit. Call it once at start, not per request. */
export function editSet(edit: Edit): EditSet {
  return 1 << EDIT_NAMES.indexOf(edit);
}

/** What every native relay may do to an answer. */
export const SIGNATURES_MARKED: EditSet = editSet("signatures_marked");

const LISTS = new Map<EditSet, readonly Edit[]>();

/**
 * The edits of a set, in the order of {@link EDITS}. The same list for the same set; not frozen,
 * because it stands in records, and the engine serialises an object with a frozen list in twice the
 * time.
 */
export function editsIn(set: EditSet): readonly Edit[] {
  const known = LISTS.get(set);
  if (known !== undefined) return known;
  const list = EDIT_NAMES.filter((_, bit) => (set & (1 << bit)) !== 0);
  LISTS.set(set, list);
  return list;
}

/** Everything that differs between what the caller and the provider saw, as far as it is known. */
export interface AnswerEdits {
  readonly edits: EditSet;
  /** Registered names of members that were taken out of the request. */
  readonly stripped: readonly string[];
  readonly dropped: readonly DroppedField[];
}

const TEXTS = new Map<EditSet, string>();

/**
 * The value of `x-signalbox-edits` (a list of tokens, RFC 9651); `null` where nothing was changed.
 */
export function formatEdits({ edits, stripped, dropped }: AnswerEdits): string | null {
  const text = textOf(edits);
  if (stripped.length === 0 && dropped.length === 0) return text === "" ? null : text;
  const items = text === "" ? [] : [text];
  for (const name of stripped) addOnce(items, `stripped:${name}`);
  for (const name of dropped) addOnce(items, name);
  return items.join(", ");
}

/** Lists of a request's edits have few items: a set for each would cost more. */
function addOnce(items: string[], item: string): void {
  if (!items.includes(item)) items.push(item);
}

function textOf(edits: EditSet): string {
  const known = TEXTS.get(edits);
  if (known !== undefined) return known;
  const text = editsIn(edits).join(", ");
  TEXTS.set(edits, text);
  return text;
}

import type { ReasoningPart } from "../../canon/generate/generate-request.ts";
import { NO_FAMILY, readSignature, relayedSignature } from "../../canon/generate/signature.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { UNSIGNED_CALL } from "../gemini/signatures.ts";
import { listOf, mapObjects, memberIn, textOf, withMember, withObject } from "../json.ts";
import type { RequestReading } from "../request-reading.ts";

/**
 * Signatures in messages of this protocol's providers: in `reasoning_details` (`signature` of
 * texts, `data` of encrypted reasoning), and in `extra_content` of a message or of its calls, under
 * a name of their own (`thought_signature`). The protocol itself signs nothing, so it has no
 * family.
 */
export const THOUGHT_SIGNATURE = "thought_signature";

/**
 * Values that a provider documents for calls without a signature, as text and in base64; they
 * belong to no family.
 */
const UNSIGNED = [
  "skip_thought_signature_validator",
  "context_engineering_is_the_way_to_go",
  UNSIGNED_CALL,
];

type Change = (signature: string) => string;

/**
 * An answer's JSON, whole or a chunk, with its signatures tagged for the client; the object itself
 * where nothing changes.
 */
export function tagAnswer(answer: JsonObject, family: string | null): JsonObject {
  const tag: Change = (signature) =>
    UNSIGNED.includes(signature) ? signature : relayedSignature(signature, family, NO_FAMILY);
  const { choices } = answer;
  if (!Array.isArray(choices) || !choices.some(mayBeSigned)) return answer;
  return withMember(answer, "choices", (list) =>
    mapObjects(list, (choice) => {
      const delta = withObject(choice, "delta", (message) => withSignatures(message, tag));
      return withObject(delta, "message", (message) => withSignatures(message, tag));
    }),
  );
}

/**
 * Whether a choice has a member in which providers sign. Most pieces of a stream have none, and
 * need not be copied to see it.
 */
function mayBeSigned(choice: JsonValue) {
  return isJsonObject(choice) && (hasSignedMember(choice.delta) || hasSignedMember(choice.message));
}

function hasSignedMember(message: JsonMember): boolean {
  if (!isJsonObject(message)) return false;
  return (
    message.extra_content !== undefined ||
    message.reasoning_details !== undefined ||
    message.tool_calls !== undefined
  );
}

/** A request's message with its signatures as their provider wrote them, without our tag. */
export function untagMessage(message: JsonObject): JsonObject {
  return withSignatures(message, (signature) => readSignature(signature, NO_FAMILY).signature);
}

/**
 * Notes the families of signatures in a message of the history. One without our tag is the
 * provider's own: no other protocol can carry it.
 */
export function noteSignatures(message: JsonObject, path: string, reading: RequestReading): void {
  if (!hasSignedMember(message)) return;
  const { reasoning_details: details, ...others } = message;
  withSignatures({ reasoning_details: details }, (text) =>
    noteSignature(text, `${path}.reasoning_details`, reading),
  );
  withSignatures(others, (text) =>
    UNSIGNED.includes(text) ? text : noteSignature(text, path, reading),
  );
}

function noteSignature(text: string, path: string, reading: RequestReading): string {
  const { family, signature } = readSignature(text, NO_FAMILY);
  reading.signed(family, path);
  if (signature === text) reading.useNative(path);
  return text;
}

/** The message with other signatures; the message itself where none is another. */
function withSignatures(message: JsonObject, change: Change): JsonObject {
  const details = withMember(withExtra(message, change), "reasoning_details", (list) =>
    mapObjects(list, (detail) => withDetail(detail, change)),
  );
  return withMember(details, "tool_calls", (list) =>
    mapObjects(list, (call) => withExtra(call, change)),
  );
}

/** A detail of any kind may have a signature beside its text; only the encrypted kind is one. */
function withDetail(detail: JsonObject, change: Change) {
  return withText(detail, detail.type === "reasoning.encrypted" ? "data" : "signature", change);
}

function withExtra(holder: JsonObject, change: Change) {
  return withObject(holder, "extra_content", (extra) => {
    let changed = extra;
    for (const name of Object.keys(extra)) {
      changed = withObject(changed, name, (vendor) => withText(vendor, THOUGHT_SIGNATURE, change));
    }
    return changed;
  });
}

function withText(object: JsonObject, name: string, change: Change) {
  return withMember(object, name, (text) =>
    typeof text === "string" && text !== "" ? change(text) : text,
  );
}

/**
 * One piece of reasoning as the items of `reasoning_details` that carry its signature: signed text
 * is one item, a signed summary is followed by its encrypted reasoning, and hidden reasoning is a
 * signature alone.
 *
 * @param id the piece's name, which distinguishes the details of one piece from those of the next;
 * `null` where the details are not read again.
 */
export function reasoningDetails(
  { text, summary }: { readonly text: string; readonly summary: boolean },
  signature: string | null,
  id: string | null,
): readonly JsonObject[] {
  const idMember = id === null ? {} : { id };
  if (signature === null)
    return summary
      ? [{ type: "reasoning.summary", summary: text, ...idMember }]
      : [{ type: "reasoning.text", text, ...idMember }];
  const encrypted: JsonObject = { type: "reasoning.encrypted", data: signature, ...idMember };
  if (text === "") return [encrypted];
  return summary
    ? [{ type: "reasoning.summary", summary: text, ...idMember }, encrypted]
    : [{ type: "reasoning.text", text, signature, ...idMember }];
}

/** The name of a message's piece of reasoning, by its number. */
export function pieceName(number: number): string {
  return `reasoning_${number}`;
}

export function isPieceName(value: JsonMember): boolean {
  return typeof value === "string" && /^reasoning_\d+$/.test(value);
}

/** An item of `reasoning_details`, unchecked; `null` where its type is unknown. */
export function readDetail(detail: JsonValue) {
  if (!isJsonObject(detail)) return null;
  const type = textOf(detail.type);
  switch (type) {
    case "reasoning.text": {
      const { text, signature } = detail;
      return { type, text, signature, members: ["text", "signature"] } as const;
    }
    case "reasoning.summary":
      return { type, text: detail.summary, signature: null, members: ["summary"] } as const;
    case "reasoning.encrypted":
      return { type, text: null, signature: detail.data, members: ["data"] } as const;
    default:
      return null;
  }
}

/**
 * Notes reasoning in an assistant message of the history that only this protocol can carry. Answers
 * of this surface have its text in `reasoning_content` (or `reasoning`), and its signed form in
 * `reasoning_details`.
 */
export function noteReasoningHistory(
  message: JsonObject,
  path: string,
  reading: RequestReading,
): void {
  for (const name of ["reasoning_content", "reasoning"]) {
    const text = message[name];
    if (text != null && typeof text !== "string") reading.useNative(`${path}.${name}`);
  }
  const details = message.reasoning_details;
  const member = `${path}.reasoning_details`;
  if (details != null && !Array.isArray(details)) reading.useNative(member);
  for (const [index, item] of listOf(details).entries()) {
    const at = `${member}[${index}]`;
    const detail = readDetail(item);
    if (detail === null || !isJsonObject(item) || !isValid(detail)) reading.useNative(at);
    else reading.useUnknown(item, ["type", "index", "id", ...detail.members], at, "assistant");
  }
}

/** Text and signature may be absent, except the signature that is encrypted reasoning. */
function isValid({ type, text, signature }: NonNullable<ReturnType<typeof readDetail>>): boolean {
  if (text != null && typeof text !== "string") return false;
  return signature == null ? type !== "reasoning.encrypted" : isFilledText(signature);
}

export function isFilledText(value: JsonMember): boolean {
  return typeof value === "string" && value !== "";
}

/**
 * The parts of the history's reasoning; call only where `noteReasoningHistory` found no feature of
 * the provider's own. A signature with our tag names the family that can read it; one without
 * belongs to the provider that sent it, which only a relay can reach again. `isWhole` is false
 * where a text beside the details differs from theirs, which no other protocol can carry.
 */
export function readReasoningHistory(message: JsonObject): {
  readonly parts: readonly ReasoningPart[];
  readonly isWhole: boolean;
} {
  const texts = [message.reasoning_content, message.reasoning].flatMap(
    (text) => textOf(text) || [],
  );
  const parts = partsOf(listOf(message.reasoning_details));
  if (parts.length === 0 && texts[0] !== undefined) parts.push({ ...PLAIN_PART, text: texts[0] });
  const joined = parts.map(({ text }) => text).join("");
  return { parts, isWhole: texts.every((text) => text === joined) };
}

const PLAIN_PART = { kind: "reasoning", summary: false, signature: null, family: null } as const;

function partsOf(details: readonly JsonValue[]): ReasoningPart[] {
  const parts: ReasoningPart[] = [];
  /**
   * Name of the piece that the last detail is of; details without a name are distinguished by their
   * order alone.
   */
  let last: JsonMember;
  for (const item of details) {
    const detail = readDetail(item);
    if (detail === null) continue;
    const { type, text, signature } = detail;
    const signed = typeof signature === "string" ? readSignature(signature, NO_FAMILY) : {};
    const previous = parts.at(-1);
    const name = memberIn(item, "id") ?? null;
    // Encrypted reasoning after an unsigned summary of the same piece belongs to that summary.
    if (
      type === "reasoning.encrypted" &&
      name === last &&
      previous?.summary === true &&
      previous.signature === null
    )
      parts[parts.length - 1] = { ...previous, ...signed };
    else {
      const summary = type === "reasoning.summary";
      parts.push({ ...PLAIN_PART, text: textOf(text), summary, ...signed });
    }
    last = name;
  }
  return parts;
}

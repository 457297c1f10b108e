import { NO_FAMILY, readSignature, relayedSignature } from "../../canon/generate/signature.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { RequestReading } from "../fields.ts";
import { UNSIGNED_CALL } from "../gemini/signed-parts.ts";

/**
 * Where providers of this protocol put signatures into messages: into `reasoning_details` (`signature` of texts, `data` of encrypted
 * reasoning), and into `extra_content` of a message or of its calls, under a name of their own (`thought_signature`).
 */
const THOUGHT_SIGNATURE = "thought_signature";

/** The protocol itself signs nothing, so it has no family of its own. */
const NATIVE_FAMILY = NO_FAMILY;

/**
 * What a provider documents for calls that no model of its own has made, as text and in base64: clients write it where they have no signature,
 * so it belongs to no family.
 */
const UNSIGNED: ReadonlySet<string> = new Set([
  "skip_thought_signature_validator",
  "context_engineering_is_the_way_to_go",
  UNSIGNED_CALL,
]);

type Change = (signature: string) => string;

/** An answer's JSON, whole or a chunk, with its signatures tagged for the client; the object itself where nothing changes. */
export function tagAnswer(answer: JsonObject, family: string | null): JsonObject {
  const tag: Change = (signature) =>
    UNSIGNED.has(signature) ? signature : relayedSignature(signature, family, NATIVE_FAMILY);
  const { choices } = answer;
  if (!Array.isArray(choices) || !choices.some(mayBeSigned)) return answer;
  const tagged = mapped(choices, (choice) => {
    const delta = withMember(choice, "delta", (message) => withSignatures(message, tag));
    return withMember(delta, "message", (message) => withSignatures(message, tag));
  });
  return tagged === choices ? answer : { ...answer, choices: tagged };
}

/** Whether a choice has a member in which providers sign. Most pieces of a stream have none, and need not be copied to see it. */
function mayBeSigned(choice: JsonValue): boolean {
  return isJsonObject(choice) && (hasSignedMember(choice["delta"]) || hasSignedMember(choice["message"]));
}

function hasSignedMember(message: JsonValue | undefined): boolean {
  if (!isJsonObject(message)) return false;
  return (
    message["extra_content"] !== undefined ||
    message["reasoning_details"] !== undefined ||
    message["tool_calls"] !== undefined
  );
}

/** A request's message as the provider that signed it knows it: signatures without our tag. */
export function untagMessage(message: JsonObject): JsonObject {
  return withSignatures(message, (signature) => readSignature(signature, NATIVE_FAMILY).signature);
}

/** Notes what the signatures in a message of the history require. One without our tag is the provider's own: no other protocol can carry it. */
export function noteSignatures(message: JsonObject, path: string, reading: RequestReading): void {
  if (!hasSignedMember(message)) return;
  const { reasoning_details: details, ...others } = message;
  withSignatures({ reasoning_details: details }, (text) => noteSignature(text, `${path}.reasoning_details`, reading));
  withSignatures(others, (text) => (UNSIGNED.has(text) ? text : noteSignature(text, path, reading)));
}

function noteSignature(text: string, path: string, reading: RequestReading): string {
  const { family, signature } = readSignature(text, NATIVE_FAMILY);
  reading.signed(family, path);
  if (signature === text) reading.use("native_chat", path);
  return text;
}

/** The message with other signatures; the message itself where none is another. */
function withSignatures(message: JsonObject, change: Change): JsonObject {
  const { reasoning_details: details, tool_calls: calls } = message;
  let changed = withExtra(message, change);
  const otherDetails = mapped(details, (detail) => withDetail(detail, change));
  if (otherDetails !== details) changed = { ...changed, reasoning_details: otherDetails };
  const otherCalls = mapped(calls, (call) => withExtra(call, change));
  return otherCalls === calls ? changed : { ...changed, tool_calls: otherCalls };
}

/** A detail of any kind may have a signature beside its text; only the encrypted kind is one. */
function withDetail(detail: JsonObject, change: Change): JsonObject {
  return withText(detail, detail["type"] === "reasoning.encrypted" ? "data" : "signature", change);
}

function withExtra(holder: JsonObject, change: Change): JsonObject {
  return withMember(holder, "extra_content", (extra) => {
    let changed = extra;
    for (const name of Object.keys(extra)) {
      changed = withMember(changed, name, (own) => withText(own, THOUGHT_SIGNATURE, change));
    }
    return changed;
  });
}

function withText(object: JsonObject, name: string, change: Change): JsonObject {
  const text = object[name];
  if (typeof text !== "string" || text === "") return object;
  const other = change(text);
  return other === text ? object : { ...object, [name]: other };
}

function withMember(object: JsonObject, name: string, change: (value: JsonObject) => JsonObject): JsonObject {
  const value = object[name];
  if (!isJsonObject(value)) return object;
  const other = change(value);
  return other === value ? object : { ...object, [name]: other };
}

/** The list with its objects changed; the list itself where none is another, and what is no list as it is. */
function mapped(list: JsonValue | undefined, change: (object: JsonObject) => JsonObject): JsonValue | undefined {
  if (!Array.isArray(list)) return list;
  const others = list.map((item: JsonValue) => (isJsonObject(item) ? change(item) : item));
  return others.every((item, index) => item === list[index]) ? list : others;
}

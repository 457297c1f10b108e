import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import { parseExactJsonText } from "../../json-bytes.ts";

/** Beginning of the members that the cloud adds to answers and events: measurements, and what its guardrails did and why. */
const PREFIX = "amazon-bedrock-";

/** Says that a guardrail has put its own words in the place of the model's, or of the prompt. */
const ACTION = `${PREFIX}guardrailAction`;
const INTERVENED = "INTERVENED";

/** The protocol's word for an answer that was withheld. */
const WITHHELD = "refusal";

/** Whether an object of JSON may have members that the cloud has added; most have none, and need not be parsed to know that. */
export function mayBeMarked(text: string): boolean {
  return text.includes(`"${PREFIX}`);
}

/** An object without the cloud's members, and whether they said that a guardrail had stepped in. */
export function withoutMarks(marked: JsonObject): { readonly plain: JsonObject; readonly intervened: boolean } {
  // Without a prototype, as in every copy of members that come from outside.
  const plain: Record<string, JsonValue | undefined> = Object.create(null);
  for (const name in marked) if (!name.startsWith(PREFIX)) plain[name] = marked[name];
  return { plain, intervened: marked[ACTION] === INTERVENED };
}

/** The object with the stop reason of answers that were withheld: what a guardrail did must not look like a normal end. */
export function asWithheld(object: JsonObject): JsonObject {
  return { ...object, stop_reason: WITHHELD };
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** A whole answer without the cloud's members: the bytes themselves where there are none. */
export function plainAnswer(bytes: Uint8Array): Uint8Array {
  const text = decoder.decode(bytes);
  const answer = mayBeMarked(text) ? parseExactJsonText(text) : undefined;
  if (!isJsonObject(answer) || !Object.keys(answer).some((name) => name.startsWith(PREFIX))) return bytes;
  const { plain, intervened } = withoutMarks(answer);
  return encoder.encode(JSON.stringify(intervened ? asWithheld(plain) : plain));
}

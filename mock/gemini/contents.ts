import type { JsonObject } from "../json.ts";
import { textAt } from "../members.ts";
import { tokensOfText, type Conversation } from "../model/conversation.ts";
import { invalid, type Problem } from "../problem.ts";
import { message, messagesAt } from "./members.ts";
import { isSignedThought } from "./thought-signature.ts";

/** Tokens counted for an image, a document or a recording. */
const TOKENS_PER_ATTACHMENT = 258;

/**
 * Reads `contents` and `systemInstruction`. A signature that another provider made is refused.
 *
 * @param demandsSignatures whether the model refuses calls without a signature.
 */
export function readContents(body: JsonObject, demandsSignatures: boolean): Conversation | Problem {
  const contents = messagesAt(body, "contents").map((content) => messagesAt(content, "parts"));
  for (const [index, parts] of contents.entries()) {
    const strange = parts.findIndex((part) => !isRightlySigned(part));
    if (strange !== -1)
      return invalid(
        `contents[${index}].parts[${strange}].thought_signature`,
        "Thought signature is not valid.",
      );
    // Of several calls at once only the first is signed.
    const call = parts.find((part) => Object.hasOwn(part, "functionCall"));
    if (demandsSignatures && call !== undefined && !Object.hasOwn(call, "thoughtSignature"))
      return invalid(
        `contents[${index}]`,
        "Function call is missing a thought_signature in functionCall parts.",
      );
  }
  const { systemInstruction } = body;
  const read =
    systemInstruction === undefined
      ? contents
      : [...contents, messagesAt(message(systemInstruction), "parts")];
  return {
    messages: contents.length,
    tokens: read.reduce(
      (sum, parts) => sum + 4 + parts.reduce((more, part) => more + tokensOf(part), 0),
      0,
    ),
    endsWithToolResult:
      contents.at(-1)?.some((part) => Object.hasOwn(part, "functionResponse")) === true,
  };
}

function isRightlySigned(part: JsonObject): boolean {
  const { text, functionCall, thoughtSignature } = part;
  if (typeof thoughtSignature !== "string" || (text === undefined && functionCall === undefined))
    return true;
  const signed =
    text === undefined ? (`call ${textAt(message(functionCall), "name")}` as const) : "text";
  return isSignedThought(signed, thoughtSignature);
}

function tokensOf(part: JsonObject): number {
  if (Object.hasOwn(part, "inlineData") || Object.hasOwn(part, "fileData"))
    return TOKENS_PER_ATTACHMENT;
  const data = part.text ?? part.functionCall ?? part.functionResponse ?? "";
  return tokensOfText(typeof data === "string" ? data : JSON.stringify(data));
}

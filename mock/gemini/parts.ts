import { isJsonObject, type JsonObject } from "../json.ts";
import { isBoolean, isFilledText, isList, isObject, isText, memberTable, textAt, type Check } from "../member-table.ts";
import { invalid, type Problem } from "../problem.ts";
import { readMessage } from "./members.ts";
import { isSignedThought } from "./thought-signature.ts";

/** A part as far as the conversation depends on it. */
export interface Part {
  readonly kind: string;
  readonly tokens: number;
  readonly isSigned: boolean;
}

/** The members of which every part has exactly one. */
const DATA = [
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
] as const;

const PART = memberTable(
  ["text", "a string", isText],
  ["thought", "a boolean", isBoolean],
  ["thoughtSignature", "bytes in base64", isText],
  ["mediaResolution", "an object", isObject],
  ["videoMetadata", "an object", isObject],
  ["partMetadata", "an object", isObject],
  ...DATA.slice(1).map((name) => [name, "an object", isObject] as const),
);

/** Both alphabets of base64: the provider takes either. */
const isBase64: Check = (value) => typeof value === "string" && /^[A-Za-z0-9+/_-]+={0,2}$/.test(value);
const isMediaType: Check = (value) => typeof value === "string" && /^[a-z]+\/[a-z0-9.+-]+$/.test(value);

const INSIDE = new Map([
  [
    "inlineData",
    memberTable(
      ["mimeType", "a media type", isMediaType],
      ["data", "bytes in base64", isBase64],
      ["displayName", "a string", isText],
    ),
  ],
  [
    "fileData",
    memberTable(
      ["mimeType", "a media type", isMediaType],
      ["fileUri", "a string", isFilledText],
      ["displayName", "a string", isText],
    ),
  ],
  [
    "functionCall",
    memberTable(["id", "a string", isText], ["name", "a string", isFilledText], ["args", "an object", isObject]),
  ],
  [
    "functionResponse",
    memberTable(
      ["id", "a string", isText],
      ["name", "a string", isFilledText],
      ["response", "an object", isObject],
      ["parts", "a list", isList],
      ["scheduling", "a string", isText],
      ["willContinue", "a boolean", isBoolean],
    ),
  ],
]);

/** Tokens counted for an image, a document or a recording. */
const TOKENS_PER_ATTACHMENT = 258;

/** Checks one part as Google does: its members, its data, and its signature. */
export function readPart(value: unknown, role: string, path: string): Part | Problem {
  const read = readMessage(value, PART, path);
  if ("problem" in read) return read.problem;
  const { members } = read;
  const kinds = DATA.filter((name) => members[name] !== undefined);
  const [kind = members["thought"] === true ? "text" : undefined] = kinds;
  if (kind === undefined || kinds.length > 1) {
    return invalid(path, 'Unable to submit request because a part must have one of its "data" fields set');
  }
  const inside = INSIDE.get(kind);
  const data = inside === undefined ? null : readMessage(members[kind], inside, `${path}.${kind}`);
  if (data !== null && "problem" in data) return data.problem;
  const problem = checkPlace(kind, role, path) ?? checkSignature(members, kind, data?.members ?? {}, path);
  if (problem !== null) return problem;
  return {
    kind,
    tokens: kind.endsWith("Data") ? TOKENS_PER_ATTACHMENT : tokensOf(members[kind]),
    isSigned: members["thoughtSignature"] !== undefined,
  };
}

function checkPlace(kind: string, role: string, path: string): Problem | null {
  if (kind === "functionCall" && role !== "model") {
    return invalid(path, "Please ensure that function call turn comes immediately after a user turn");
  }
  return kind === "functionResponse" && role === "model"
    ? invalid(path, "Please ensure that function response turn comes immediately after a function call turn")
    : null;
}

function checkSignature(members: JsonObject, kind: string, data: JsonObject, path: string): Problem | null {
  const signature = members["thoughtSignature"];
  if (typeof signature !== "string" || (kind !== "text" && kind !== "functionCall")) return null;
  const signed = kind === "text" ? "text" : (`call ${textAt(data, "name")}` as const);
  return isSignedThought(signed, signature)
    ? null
    : invalid(`${path}.thought_signature`, "Thought signature is not valid.");
}

function tokensOf(data: unknown): number {
  const text = typeof data === "string" ? data : isJsonObject(data) ? JSON.stringify(data) : "";
  return Math.ceil(text.length / 4);
}

import type { ReasoningPart } from "../../canon/generate/message.ts";
import { NO_FAMILY, readSignature } from "../../canon/generate/signature.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { RequestReading } from "../fields.ts";

/**
 * Reasoning in an assistant message of the history, as answers of this surface carry it: `reasoning_content` (or `reasoning`) is its text, and
 * `reasoning_details` its signed form. A signature with our tag says which family can read it; one without belongs to
 * the very provider that gave it, which only a relay can reach again.
 */
const KINDS = ["reasoning.text", "reasoning.encrypted", "reasoning.summary"] as const;
type Kind = (typeof KINDS)[number];

const DETAIL_MEMBERS: Readonly<Record<Kind, ReadonlySet<string>>> = {
  "reasoning.text": new Set(["type", "text", "signature", "index", "id"]),
  "reasoning.encrypted": new Set(["type", "data", "index", "id"]),
  "reasoning.summary": new Set(["type", "summary", "index", "id"]),
};

/** The members that hold a signature, and the empty string where neither does. */
function signatureMember(kind: Kind): "signature" | "data" | null {
  if (kind === "reasoning.text") return "signature";
  return kind === "reasoning.encrypted" ? "data" : null;
}

export function noteReasoningHistory(message: JsonObject, path: string, reading: RequestReading): void {
  for (const name of ["reasoning_content", "reasoning"]) {
    const text = message[name];
    if (text !== undefined && text !== null && typeof text !== "string") reading.use("native_chat", `${path}.${name}`);
  }
  const details = message["reasoning_details"];
  if (details === undefined || details === null) return;
  const member = `${path}.reasoning_details`;
  if (!Array.isArray(details)) {
    reading.use("native_chat", member);
    return;
  }
  for (const detail of details) {
    const kind = isJsonObject(detail) ? kindOf(detail) : null;
    if (
      !isJsonObject(detail) ||
      kind === null ||
      reading.unknownIn(detail, DETAIL_MEMBERS[kind]) !== null ||
      !isText(detail, kind)
    ) {
      reading.use("native_chat", member);
    }
  }
}

function kindOf(detail: JsonObject): Kind | null {
  return KINDS.find((kind) => kind === detail["type"]) ?? null;
}

/** Whether what the detail says is text, or not there. */
function isText(detail: JsonObject, kind: Kind): boolean {
  // Encrypted reasoning is nothing without its data.
  if (kind === "reasoning.encrypted") return isSaid(detail["data"]);
  const said = detail[kind === "reasoning.summary" ? "summary" : "text"] ?? "";
  const { signature = null } = detail;
  return typeof said === "string" && (kind !== "reasoning.text" || signature === null || isSaid(signature));
}

function isSaid(value: JsonValue | undefined): boolean {
  return typeof value === "string" && value !== "";
}

/**
 * The parts of the history's reasoning; call only where `noteReasoningHistory` found nothing that is the provider's own. `isWhole` is false
 * where a text beside the details says something else than they do, which no other protocol can carry.
 */
export function readReasoningHistory(message: JsonObject): {
  readonly parts: readonly ReasoningPart[];
  readonly isWhole: boolean;
} {
  const { reasoning_content, reasoning, reasoning_details } = message;
  const texts = [reasoning_content, reasoning].filter((text) => typeof text === "string" && text !== "");
  const details = Array.isArray(reasoning_details) ? reasoning_details : [];
  const parts = partsOf(details);
  if (parts.length === 0) {
    const [text] = texts;
    return {
      parts:
        typeof text === "string" ? [{ kind: "reasoning", text, summary: false, signature: null, family: null }] : [],
      isWhole: texts.every((other) => other === text),
    };
  }
  const said = parts.map(({ text }) => text).join("");
  return { parts, isWhole: texts.every((text) => text === said) };
}

function partsOf(details: readonly JsonValue[]): readonly ReasoningPart[] {
  const parts: ReasoningPart[] = [];
  /** Name of the piece that the last detail is of; details without a name are distinguished by their order alone. */
  let last: JsonValue | undefined;
  for (const detail of details) {
    const kind = isJsonObject(detail) ? kindOf(detail) : null;
    if (!isJsonObject(detail) || kind === null) continue;
    const member = signatureMember(kind);
    const raw = member === null ? null : detail[member];
    const signed = typeof raw === "string" ? readSignature(raw, NO_FAMILY) : { signature: null, family: null };
    const previous = parts.at(-1);
    const name = detail["id"] ?? null;
    const isSame = name === last;
    last = name;
    // Encrypted reasoning after an unsigned summary of its piece is what the summary sums up.
    if (kind === "reasoning.encrypted" && isSame && previous?.summary === true && previous.signature === null) {
      parts[parts.length - 1] = { ...previous, ...signed };
      continue;
    }
    const text = kind === "reasoning.summary" ? detail["summary"] : detail["text"];
    parts.push({
      kind: "reasoning",
      text: typeof text === "string" ? text : "",
      summary: kind === "reasoning.summary",
      ...signed,
    });
  }
  return parts;
}

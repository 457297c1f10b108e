import type { Capability } from "../../canon/capability.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";

/** Tokens of a picture, more than the protocols' tables say for the largest ones. */
const PICTURE = 16_384;

/** Tokens of a document, recording or film that the body only names. */
const DOCUMENT = 131_072;

/** Tokens that providers add of their own: frames of messages, and instructions for tools. */
const FRAME = 64;
const TOOL_FRAME = 1_024;

/** The most tokens of input beyond one for each byte: of what has no bytes in the body (pictures by address, documents) an allowance is added. */
export function inputAllowance(body: JsonObject, needs: readonly Capability[]): number {
  const frame = FRAME + (body["tools"] === undefined ? 0 : TOOL_FRAME);
  return frame + (bringsMedia(needs) ? mediaAllowance(body, 0) : 0);
}

/** ASCII characters for one token. Texts of other scripts have about one token a character. */
export const ASCII_PER_TOKEN = 4;

/** Tokens of the input as they are likely to be counted. */
export function likelyInput(body: JsonObject, needs: readonly Capability[]): number {
  let media = 0;
  const text = JSON.stringify(body, (_name, value: JsonValue) => {
    const allowance = isJsonObject(value) ? allowanceOf(value["type"]) : 0;
    if (allowance === 0) return value;
    media += allowance;
    return null;
  });
  let ascii = 0;
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) < 128) ascii += 1;
  const read = Math.ceil(ascii / ASCII_PER_TOKEN) + (text.length - ascii);
  return read + (bringsMedia(needs) ? media : 0);
}

function bringsMedia(needs: readonly Capability[]): boolean {
  return needs.some((capability) => MEDIA.has(capability));
}

/** Types of parts, over all protocols of products, whose tokens their bytes do not tell. */
const PICTURES: ReadonlySet<string> = new Set(["image", "image_url", "input_image"]);
const DOCUMENTS: ReadonlySet<string> = new Set([
  "document",
  "file",
  "input_file",
  "input_audio",
  "audio",
  "video",
  "video_url",
]);

const MEDIA: ReadonlySet<Capability> = new Set(["image_input", "audio_input", "video_input", "file_input"]);

const DEEPEST = 12;

function mediaAllowance(value: JsonValue | undefined, depth: number): number {
  if (depth > DEEPEST) return 0;
  let sum = 0;
  if (Array.isArray(value)) {
    for (const item of value) sum += mediaAllowance(item, depth + 1);
  } else if (isJsonObject(value)) {
    sum += allowanceOf(value["type"]);
    for (const name in value) sum += mediaAllowance(value[name], depth + 1);
  }
  return sum;
}

function allowanceOf(type: JsonValue | undefined): number {
  if (typeof type !== "string") return 0;
  if (PICTURES.has(type)) return PICTURE;
  return DOCUMENTS.has(type) ? DOCUMENT : 0;
}

const OUTPUT_LIMITS = ["max_completion_tokens", "max_tokens", "max_output_tokens"] as const;

/**
 * The largest output limit of all protocols that generate. A route may forward members that the surface does not have, and a provider may read them: nothing less
 * than what it may make is reserved.
 */
export function outputLimit(body: JsonObject): number | null {
  let limit = Number.NEGATIVE_INFINITY;
  for (const name of OUTPUT_LIMITS) {
    const value = body[name];
    if (typeof value === "number" && Number.isFinite(value)) limit = Math.max(limit, Math.ceil(value));
  }
  return limit > 0 ? limit : null;
}

/** Answers to one prompt, by the members of all protocols for the same reason. */
export function choices({ n, best_of: bestOf }: JsonObject): number {
  const many = [n, bestOf].map((value) => (typeof value === "number" && Number.isFinite(value) ? Math.ceil(value) : 1));
  return Math.max(1, ...many);
}

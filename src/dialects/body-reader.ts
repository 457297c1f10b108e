import type { Capability } from "../canon/capability.ts";
import { isJsonObject, type JsonMember, type JsonObject, type JsonValue } from "../canon/json.ts";
import {
  SORT_KEYS,
  type BodyReader,
  type Percentiles,
  type ProviderPreferences,
} from "../canon/request.ts";

/**
 * Characters at the beginning of a prompt without turns that identify the conversation: prompts
 * grow at the end.
 */
const PROMPT_HEAD = 1_024;

/** The same for a prompt of tokens. */
const PROMPT_HEAD_TOKENS = 256;

/** Instructions before the first turn that count. */
const MOST_INSTRUCTIONS = 8;

/** The caller's own name for a conversation, sent to providers' caches; `null` where absent. */
function conversationName({ prompt_cache_key: name }: JsonObject) {
  return typeof name === "string" && name !== "" ? endsOf(name) : null;
}

/**
 * The part that all requests of a conversation share: its first turn, and the instructions before
 * it. The turn stands first, so that long instructions, which many conversations share, do not use
 * up the text. Tools are omitted: they are long, and change between turns.
 *
 * @param turns a list, or one text. @param instructions of the whole conversation.
 */
export function turnsOpening(turns: JsonMember, instructions?: JsonValue): string | null {
  const opening = Array.isArray(turns) ? firstTurn(turns) : headOf(turns);
  return summaryOf(instructions === undefined ? opening : [...opening, instructions]);
}

/** The beginning of a prompt without turns. */
export function promptOpening(prompt: JsonMember): string | null {
  return summaryOf(headOf(prompt));
}

function firstTurn(turns: readonly JsonValue[]): readonly JsonValue[] {
  const first = turns.findIndex((turn) => isJsonObject(turn) && turn.role === "user");
  if (first === -1) return turns.slice(0, 1);
  return [...turns.slice(first, first + 1), ...turns.slice(0, Math.min(first, MOST_INSTRUCTIONS))];
}

/** The beginning of a prompt: a text, the first of several, or tokens. */
function headOf(prompt: JsonMember): readonly JsonValue[] {
  if (typeof prompt === "string") return [prompt.slice(0, PROMPT_HEAD)];
  if (!Array.isArray(prompt)) return [];
  const items: readonly JsonValue[] = prompt;
  return typeof items[0] === "number" ? [items.slice(0, PROMPT_HEAD_TOKENS)] : headOf(items[0]);
}

/**
 * Longest text that counts whole, and the characters at each end of a longer one, such as an image.
 */
const WHOLE_TEXT = 8_192;
const TEXT_END = 4_096;

/**
 * Characters and levels that count: a request may be large and deep, and its beginning is enough.
 */
const LONGEST_SUMMARY = 65_536;
const DEEPEST = 32;

/** Members that clients move or add from turn to turn while the turn stays the same. */
const UNSTABLE_MEMBERS = ["cache_control", "id", "status"];

function endsOf(text: string) {
  return text.length <= WHOLE_TEXT ? text : text.slice(0, TEXT_END) + text.slice(-TEXT_END);
}

/**
 * The beginning of some values, in few enough characters to digest with every request; `null` for
 * none.
 */
function summaryOf(values: readonly JsonValue[]): string | null {
  let text = "";
  const add = (value: JsonMember, depth: number) => {
    if (text.length >= LONGEST_SUMMARY || depth > DEEPEST) return;
    if (typeof value === "string") {
      // With its length before it, one text cannot be confused with two.
      text += `${value.length}"${endsOf(value)}`;
    } else if (isJsonObject(value)) {
      text += "{";
      for (const [name, member] of Object.entries(value)) {
        if (UNSTABLE_MEMBERS.includes(name)) continue;
        add(name, depth + 1);
        add(member, depth + 1);
      }
      text += "}";
    } else if (typeof value === "object" && value !== null) {
      text += "[";
      for (const item of value) add(item, depth + 1);
      text += "]";
    } else text += `${value},`;
  };
  for (const value of values) add(value, 0);
  return values.length === 0 ? null : text;
}

/** Tokens of a picture: above the largest in the protocols' tables. */
const PICTURE = 16_384;

/** Tokens of a document, recording or film that the body only names. */
const DOCUMENT = 131_072;

/** Tokens that providers add: frames of messages, and instructions for tools. */
const FRAME = 64;
const TOOL_FRAME = 1_024;

/**
 * Upper bound of input tokens beyond one for each byte, for content without bytes in the body
 * (pictures by URL, documents).
 */
function inputAllowance(body: JsonObject, needs: readonly Capability[]): number {
  const frame = FRAME + (body.tools === undefined ? 0 : TOOL_FRAME);
  return frame + (bringsMedia(needs) ? mediaAllowance(body) : 0);
}

/** ASCII characters for one token. Texts of other scripts have about one token a character. */
export const ASCII_PER_TOKEN = 4;

/** Likely number of input tokens. */
function likelyInput(body: JsonObject, needs: readonly Capability[]): number {
  let media = 0;
  const text = JSON.stringify(body, (_name, value: JsonValue) => {
    const allowance = isJsonObject(value) ? allowanceOf(value.type) : 0;
    if (allowance === 0) return value;
    media += allowance;
    return null;
  });
  let ascii = 0;
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) < 128) ascii += 1;
  const read = Math.ceil(ascii / ASCII_PER_TOKEN) + (text.length - ascii);
  return read + (bringsMedia(needs) ? media : 0);
}

function bringsMedia(needs: readonly Capability[]) {
  return needs.some((capability) => MEDIA.has(capability));
}

/**
 * Types of parts, over all protocols of products, whose number of tokens does not follow from their
 * bytes.
 */
const PICTURES = ["image", "image_url", "input_image"];
const DOCUMENTS = ["document", "file", "input_file", "input_audio", "audio", "video", "video_url"];

const MEDIA: ReadonlySet<Capability> = new Set([
  "image_input",
  "audio_input",
  "video_input",
  "file_input",
]);

function mediaAllowance(value: JsonMember): number {
  if (typeof value !== "object" || value === null) return 0;
  let sum = isJsonObject(value) ? allowanceOf(value.type) : 0;
  for (const each of Object.values(value)) sum += mediaAllowance(each);
  return sum;
}

function allowanceOf(type: JsonMember): number {
  if (typeof type !== "string") return 0;
  if (PICTURES.includes(type)) return PICTURE;
  return DOCUMENTS.includes(type) ? DOCUMENT : 0;
}

const OUTPUT_LIMITS = ["max_completion_tokens", "max_tokens", "max_output_tokens"] as const;

/**
 * The largest output limit of all protocols that generate. A route may forward members that the
 * surface does not have, and a provider may read them: so the largest is reserved.
 */
function outputLimit(body: JsonObject): number | null {
  let limit = Number.NEGATIVE_INFINITY;
  for (const name of OUTPUT_LIMITS) {
    const value = body[name];
    if (typeof value === "number" && Number.isFinite(value))
      limit = Math.max(limit, Math.ceil(value));
  }
  return limit > 0 ? limit : null;
}

/** Answers to one prompt, in the members of all protocols for the same reason. */
function choices({ n, best_of: bestOf }: JsonObject): number {
  const many = [n, bestOf].map((value) =>
    typeof value === "number" && Number.isFinite(value) ? Math.ceil(value) : 1,
  );
  return Math.max(1, ...many);
}

/** Reads bodies of one prompt; protocols override parts of it. */
export const PLAIN_BODY: BodyReader = {
  outputLimit,
  prompts: () => 1,
  choices,
  inputAllowance,
  likelyInput,
  conversationName,
  conversationOpening: () => null,
};

/** Estimates for requests whose content is `input`. */
export const INPUT_BODY: BodyReader = {
  ...PLAIN_BODY,
  conversationOpening: ({ input }) => turnsOpening(input),
};

/** Normalises a validated `provider` member; `null` where it requests nothing. */
export function parsePreferences(value: JsonMember): ProviderPreferences | null {
  if (!isJsonObject(value)) return null;
  const { require_parameters: _always, ...preferences } = value;
  const { sort, region, preferred_max_latency: latency, preferred_min_throughput: rate } = value;
  return Object.keys(preferences).length === 0
    ? null
    : {
        ...preferences,
        ...(sort !== undefined && { sort: parseSort(sort) }),
        ...(region !== undefined && { region: textList(region) }),
        ...(latency !== undefined && { preferred_max_latency: parsePercentiles(latency) }),
        ...(rate !== undefined && { preferred_min_throughput: parsePercentiles(rate) }),
      };
}

function parseSort(value: JsonValue): NonNullable<ProviderPreferences["sort"]> {
  if (!isJsonObject(value)) return { by: sortKey(value), partition: "model" };
  return { by: sortKey(value.by), partition: value.partition === "none" ? "none" : "model" };
}

function sortKey(value: JsonMember) {
  return SORT_KEYS.find((key) => key === value) ?? "price";
}

function textList(value: JsonValue): readonly string[] {
  const items = Array.isArray(value) ? value : [value];
  return items.filter((item): item is string => typeof item === "string");
}

function parsePercentiles(value: JsonValue): Percentiles {
  if (typeof value === "number") return { p50: value };
  const members = Object.entries(isJsonObject(value) ? value : {});
  return Object.fromEntries(
    members.flatMap(([name, one]) => (typeof one === "number" ? [[name, one]] : [])),
  );
}

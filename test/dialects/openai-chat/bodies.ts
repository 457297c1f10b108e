import { invalidRequest, type ServiceError } from "../../../src/canon/error.ts";
import { isJsonObject, type JsonObject } from "../../../src/canon/json.ts";
import type { InferenceRequest } from "../../../src/canon/request.ts";
import type { UnknownFields } from "../../../src/canon/table.ts";
import type { CanonicalRequest } from "../../../src/dialects/dialect.ts";
import { chatSurface } from "../../../src/dialects/openai-chat/dialect.ts";
import { NO_EDITS, NO_HEADERS } from "../laws/target.ts";

export const user = { role: "user", content: "hi" } as const;

export function parse(more: JsonObject = {}): InferenceRequest {
  const parsed = chatSurface.parse({ model: "r", messages: [user], ...more }, 400, NO_HEADERS);
  if ("code" in parsed) throw new Error(`${parsed.code} ${parsed.message}`);
  return parsed;
}

export function refusal(more: JsonObject): ServiceError {
  const parsed = chatSurface.parse({ model: "r", messages: [user], ...more }, 400, NO_HEADERS);
  if ("code" in parsed) return parsed;
  const { unknownKind } = parsed;
  if (!unknownKind) throw new Error("was not refused");
  return invalidRequest(unknownKind.code, unknownKind.message, unknownKind.param ?? undefined);
}

/** A body whose one message holds one part. */
export function content(part: JsonObject, role = "user"): JsonObject {
  const messages = [{ role, content: [part] }];
  return { messages: role === "user" ? messages : [user, ...messages, user] };
}

export function toCanon(
  more: JsonObject,
  edits = NO_EDITS,
  mode: UnknownFields = "reject",
): CanonicalRequest {
  const canonical = chatSurface.translation.toCanon(parse(more), mode, edits);
  if ("code" in canonical) throw new Error(`${canonical.code} ${canonical.message}`);
  return canonical;
}

export function toCanonRefusal(more: JsonObject, mode: UnknownFields = "reject"): ServiceError {
  const canonical = chatSurface.translation.toCanon(parse(more), mode, NO_EDITS);
  if (!("code" in canonical)) throw new Error("was not refused");
  return canonical;
}

/** The JSON objects of a rendered stream, and whether `[DONE]` ended it. */
export function chunksOf(events: readonly Uint8Array[]): {
  readonly chunks: readonly JsonObject[];
  readonly done: boolean;
} {
  const lines = events.map((event) => new TextDecoder().decode(event));
  const chunks: JsonObject[] = [];
  for (const line of lines) {
    if (line === "data: [DONE]\n\n") continue;
    const value: unknown = JSON.parse(line.slice("data: ".length));
    if (!isJsonObject(value)) throw new Error("a chunk that is not an object");
    chunks.push(value);
  }
  return { chunks, done: lines.at(-1) === "data: [DONE]\n\n" };
}

import type { ModelOperation } from "../../../canon/operation.ts";

/** Kinds of calls, as gateways name them, that are an operation here; the others have none. */
const OPERATIONS: Readonly<Record<string, ModelOperation>> = {
  chat: "generate",
  completion: "generate",
  responses: "generate",
  embedding: "embed",
  rerank: "rerank",
  moderation: "moderate",
};

/** Names of models by which the kind of call is known where nothing says it. */
const FORMS: readonly (readonly [RegExp, string])[] = [
  [/rerank/i, "rerank"],
  [/embed|(?:^|\/)(?:bge-|voyage-|gte-|e5-)/i, "embedding"],
  [/moderation/i, "moderation"],
  [/dall-e|gpt-image|stable-diffusion|imagen|flux|(?:^|\/)sd3|stability\./i, "image_generation"],
  [/whisper|transcribe/i, "audio_transcription"],
  [/(?:^|\/)tts|-tts/i, "audio_speech"],
  [/realtime/i, "realtime"],
  [/(?:^|\/)(?:sora|veo)/i, "video_generation"],
];

/** The kind of call of a model: what the source says, or what its name says; chat otherwise. */
export function modeOf(stated: string | null, model: string): string {
  return stated ?? FORMS.find(([form]) => form.test(model))?.[1] ?? "chat";
}

/** `null`: nothing here serves this kind of call. */
export function operationOf(mode: string): ModelOperation | null {
  return Object.hasOwn(OPERATIONS, mode) ? (OPERATIONS[mode] ?? null) : null;
}

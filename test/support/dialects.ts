import { messagesSurface } from "../../src/dialects/anthropic-messages/dialect.ts";
import type { AnswerContext, Surface, Target } from "../../src/dialects/dialect.ts";
import { SURFACE_DIALECT_OF } from "../../src/canon/operation.ts";
import type { InferenceRequest } from "../../src/canon/request.ts";
import {
  GENERATE_DIALECTS,
  isGenerateDialect,
  type GenerateDialect,
} from "../../src/dialects/table.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { completionsSurface } from "../../src/dialects/openai-completions/dialect.ts";
import { responsesSurface } from "../../src/dialects/openai-responses/dialect.ts";
import { endpoint, model, provider } from "./table.ts";

export const DIALECT_NAMES: readonly GenerateDialect[] =
  Object.keys(GENERATE_DIALECTS).filter(isGenerateDialect);

/** The generation surface of each dialect that products speak too. */
export const SURFACES = {
  "openai-chat": chatSurface,
  "openai-completions": completionsSurface,
  "openai-responses": responsesSurface,
  "anthropic-messages": messagesSurface,
} as const satisfies Partial<Record<GenerateDialect, Surface>>;

export type SurfaceDialect = keyof typeof SURFACES;

export const SURFACE_DIALECTS: readonly SurfaceDialect[] = DIALECT_NAMES.filter(
  (name): name is SurfaceDialect => name in SURFACES,
);

/** An endpoint of the dialect that has everything the dialect has. */
export function targetOf(dialect: GenerateDialect): Target {
  const facts = GENERATE_DIALECTS[dialect];
  return {
    endpoint: endpoint("e", {
      dialect,
      upstreamModel: "upstream-model",
      capabilities: facts.expresses.toSorted(),
    }),
    model: model("m", { defaultMaxOutputTokens: 4_096, signatureFamily: "family" }),
    provider: provider("p", { dialect }),
  };
}

export function contextOf(
  request: InferenceRequest,
  signatureFamily: string | null = nativeFamilyOf(request),
): AnswerContext {
  const now = (): number => 1_700_000_000;
  return {
    request,
    requestId: "req_1",
    answerId: "1",
    model: "upstream-model",
    signatureFamily,
    now,
  };
}

/** Whose signatures a native relay passes on without a tag. */
export function nativeFamilyOf({ shape }: Pick<InferenceRequest, "shape">): string | null {
  const dialect = SURFACE_DIALECT_OF[shape.operation];
  if (dialect === "openai-responses") return "openai";
  return dialect === "anthropic-messages" ? "anthropic" : null;
}

export const NO_HEADERS = { version: null, betas: [] } as const;
export const NO_EDITS = { maxOutputTokens: null, stripFields: [] } as const;

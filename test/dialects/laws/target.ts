import type { RequestEdits } from "../../../src/canon/decision.ts";
import { ROUTER_FEATURES } from "../../../src/canon/capability.ts";
import { SURFACE_DIALECT_OF } from "../../../src/canon/operation.ts";
import type { InferenceRequest, ProtocolHeaders } from "../../../src/canon/request.ts";
import type { EndpointRow, ModelRow, ProviderRow } from "../../../src/canon/table.ts";
import { endpointFeatures } from "../../../src/compile/resolve/endpoints.ts";
import type { AnswerContext, DialectFacts, Target } from "../../../src/dialects/dialect.ts";
import { GENERATE_DIALECTS, type GenerateDialect } from "../../../src/dialects/table.ts";
import { nativeFamilyOf } from "../../support/dialects.ts";

export const NO_HEADERS: ProtocolHeaders = { version: null, betas: [] };

export const NO_EDITS: RequestEdits = { maxOutputTokens: null, stripFields: [] };

/** Every protocol of the table, in its order. */
export const DIALECT_NAMES: readonly GenerateDialect[] = Object.keys(GENERATE_DIALECTS).filter(
  (name): name is GenerateDialect => Object.hasOwn(GENERATE_DIALECTS, name),
);

export const MODEL: ModelRow = {
  id: "m",
  operations: ["generate"],
  contextWindow: 1_000_000,
  maxOutputTokens: 100_000,
  defaultMaxOutputTokens: 4_096,
  capabilities: [],
  dimensions: [],
  defaultDimensions: null,
  moderationCategories: null,
  signatureFamily: "family",
  reasoning: null,
  refuses: [],
  accepts: [],
};

/** A target that speaks the dialect: its model has every capability that the dialect carries. */
export function targetOf(dialect: GenerateDialect, model: ModelRow = MODEL): Target {
  const facts: DialectFacts = GENERATE_DIALECTS[dialect];
  const provider: ProviderRow = {
    id: "p",
    dialect,
    baseUrl: "https://p.example",
    apiVersion: null,
    region: "eu-west",
    auth: { kind: "none" },
    retention: "none",
    trainsOnData: false,
    timeouts: { connect: 1, firstByte: 1, idle: 1, firstToken: 1, total: 1 },
    queue: { size: 0, wait: 1 },
    health: {
      consecutiveFailures: 0,
      failureRatio: 0,
      minimumCalls: 1,
      window: 1,
      ejection: 1,
      longestEjection: 1,
      probe: null,
    },
    maxConcurrency: 1,
    flags: [],
    betas: [],
  };
  const features = endpointFeatures(facts, model, provider);
  const endpoint: EndpointRow = {
    id: "e",
    model: model.id,
    provider: provider.id,
    region: "eu-west",
    dialect,
    upstreamModel: "upstream-model",
    price: null,
    maxConcurrency: null,
    batch: { inputs: null, tokens: null },
    capabilities: facts.expresses.toSorted(),
    features: features.translated,
    nativeFeatures: features.native,
  };
  return { endpoint, model, provider };
}

/**
 * What a request requires that the target does not have, as the decision compares it; `null` where
 * it has all.
 */
export function lacking({ shape }: InferenceRequest, { endpoint, model }: Target): string | null {
  const isNative = SURFACE_DIALECT_OF[shape.operation] === endpoint.dialect;
  const features = isNative ? endpoint.nativeFeatures : endpoint.features;
  const isForeign = shape.signatureFamilies.some((family) => family !== model.signatureFamily);
  return (
    shape.needs.find((capability) => !endpoint.capabilities.includes(capability)) ??
    shape.features.find(
      (feature) => !features.includes(feature) && !ROUTER_FEATURES.has(feature),
    ) ??
    (isForeign ? "signature_family" : null)
  );
}

export function contextOf(request: InferenceRequest): AnswerContext {
  const signatureFamily = nativeFamilyOf(request);
  const model = "public-model";
  return {
    request,
    requestId: "req_law",
    answerId: "law",
    model,
    signatureFamily,
    now: () => 1_700_000_000,
  };
}

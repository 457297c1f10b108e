import { CAPABILITIES, CAPABILITY_NAMES, type Capability, isCapability } from "../../../canon/capability.ts";
import type { JsonObject, JsonValue } from "../../../canon/json.ts";
import type { ModelOperation } from "../../../canon/operation.ts";
import { presetOf, type PresetSample } from "../../../compile/presets.ts";
import type { Spot } from "../fields.ts";
import { embeddingModel } from "./embedding-models.ts";
import { asName, type NameSpace } from "./names.ts";
import type { PlannedModel, PlannedProvider } from "./rows.ts";

/** What the source says of a model at a provider. */
export interface ModelWish {
  readonly upstream: string;
  /** Name of the model itself, where the provider's differs. */
  readonly base?: string | null;
  readonly operation: ModelOperation;
  /** Capabilities that the source grants or denies; the others are assumed. */
  readonly stated?: ReadonlyMap<Capability, boolean>;
  readonly contextWindow?: number | null;
  readonly maxOutput?: number | null;
  /** Length of its vectors. */
  readonly dimensions?: number | null;
  readonly spot: Spot;
}

/** The models of an import. */
export interface ModelRows {
  readonly models: PlannedModel[];
  readonly modelNames: NameSpace;
  /** Presets whose models' capabilities were assumed, with the models. */
  readonly assumed: Map<string, Map<string, Spot>>;
}

interface FoundModel {
  readonly model: PlannedModel;
  readonly capabilities: ReadonlySet<Capability>;
  readonly batch: JsonObject | null;
}

/** Tools that providers run: no caller gets them by default. */
const HOSTED: ReadonlySet<string> = new Set(["web_search", "file_search", "code_execution", "computer_use", "mcp"]);
/** What a server is assumed to understand of which nothing is known but its protocol. */
const COMMON: readonly Capability[] = ["tools", "json_schema", "json_object"];
/** Sent where a protocol demands a limit, the caller gave none and nothing is known of the model. */
const USUAL_OUTPUT = 8000;

/** The row of a model, made or found. @returns what the source would have to say first. */
export function modelFor(imported: ModelRows, provider: PlannedProvider, wish: ModelWish): FoundModel | string {
  const sample = provider.preset === null ? undefined : presetOf(provider.preset)?.sample;
  const exact = sample?.upstream_model === wish.upstream && listed(sample.row["operations"]).includes(wish.operation);
  const embeds = wish.operation === "embed" ? vectorsOf(wish) : null;
  if (wish.operation === "embed" && embeds === null)
    return "the length of its vectors is not known: add `output_vector_size` and `max_input_tokens` to its `model_info`, and import again";
  const capabilities = capabilitiesOf(provider, wish, sample, exact, imported);
  const rest = restOf(sample, exact, wish.operation);
  const name = asName(wish.base ?? wish.upstream, "model");
  const dimensions = embeds?.dimensions ?? [];
  const found = imported.models.find(
    (model) =>
      model.name === name &&
      model.operation === wish.operation &&
      sameRest(model.rest, rest) &&
      String(model.dimensions) === String(dimensions),
  );
  const model = found ?? {
    id: imported.modelNames.take(name),
    name,
    operation: wish.operation,
    capabilities: new Set<Capability>(),
    contextWindow: null,
    maxOutput: null,
    defaultMaxOutput: null,
    dimensions,
    defaultDimensions: embeds?.usual ?? null,
    rest,
    spots: [],
  };
  if (found === undefined) imported.models.push(model);
  for (const capability of capabilities) model.capabilities.add(capability);
  model.spots.push(wish.spot);
  model.contextWindow = smaller(model.contextWindow, embeds?.window ?? tokens(wish.contextWindow));
  model.maxOutput = smaller(model.maxOutput, tokens(wish.maxOutput));
  if (provider.facts.demandsOutputLimit && wish.operation === "generate") {
    const usual = sample?.row["default_max_output_tokens"];
    model.defaultMaxOutput = typeof usual === "number" ? usual : USUAL_OUTPUT;
  }
  const batch = exact && sample?.batch !== undefined ? sample.batch : null;
  return { model, capabilities: new Set(capabilities), batch };
}

function capabilitiesOf(
  provider: PlannedProvider,
  { operation, stated = new Map(), upstream, spot }: ModelWish,
  sample: PresetSample | undefined,
  exact: boolean,
  imported: ModelRows,
): readonly Capability[] {
  if (operation === "embed" || operation === "rerank") return [];
  const fromSample = listed(sample?.row["capabilities"]).filter(isCapability);
  const base = sample === undefined ? COMMON : fromSample.filter((name) => !HOSTED.has(name));
  if (!exact && operation === "generate" && [...COMMON, "image_input" as const].some((name) => !stated.has(name))) {
    const known = imported.assumed.get(provider.preset ?? "") ?? new Map<string, Spot>();
    known.set(upstream, spot);
    imported.assumed.set(provider.preset ?? "", known);
  }
  return CAPABILITY_NAMES.filter(
    (name) =>
      (stated.get(name) ?? (operation === "generate" && base.includes(name))) &&
      provider.facts.expresses.includes(name),
  );
}

/** Keys of the sample that hold for all models of the provider, or for this very model. */
function restOf(sample: PresetSample | undefined, exact: boolean, operation: ModelOperation): JsonObject {
  if (operation !== "generate" || sample === undefined) return {};
  const keys = exact ? ["signature_family", "reasoning", "refuses", "accepts"] : ["signature_family"];
  return Object.fromEntries(keys.flatMap((key) => (sample.row[key] === undefined ? [] : [[key, sample.row[key]]])));
}

function sameRest(left: JsonObject, right: JsonObject): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function vectorsOf({ upstream, base, dimensions, contextWindow }: ModelWish): {
  readonly dimensions: readonly number[];
  readonly usual: number | null;
  readonly window: number;
} | null {
  const known = embeddingModel(base ?? upstream) ?? embeddingModel(upstream);
  const length =
    typeof dimensions === "number" && dimensions >= 1 && dimensions <= 65_536 ? Math.floor(dimensions) : null;
  const window = tokens(contextWindow) ?? known?.window ?? null;
  if (length !== null && window !== null && known?.dimensions.includes(length) !== true)
    return { dimensions: [length], usual: null, window };
  if (known === undefined || window === null) return null;
  return { dimensions: known.dimensions, usual: length ?? known.usual ?? null, window };
}

/** Capabilities that a workspace has to approve, so that requests of the source's callers go on. */
export function approvable(capabilities: Iterable<Capability>): readonly Capability[] {
  const found = new Set(capabilities);
  return CAPABILITY_NAMES.filter((name) => found.has(name) && CAPABILITIES[name].approved);
}

function smaller(left: number | null, right: number | null): number | null {
  if (left === null || right === null) return left ?? right;
  return Math.min(left, right);
}

/** Whole tokens as `routes.yaml` takes them. */
function tokens(value: number | null | undefined): number | null {
  if (value === null || value === undefined || value < 1) return null;
  return Math.min(1_000_000_000, Math.floor(value));
}

function listed(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

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

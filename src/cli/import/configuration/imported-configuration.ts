import { CAPABILITY_NAMES, type Capability, isCapability } from "../../../canon/capability.ts";
import { canonicalJson, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { ModelOperation } from "../../../canon/operation.ts";
import { compareAreas, hostEvidence, modelIdEvidence } from "../../../compile/checks/regions.ts";
import { Findings } from "../../../compile/findings/findings.ts";
import { presetOf, type PresetSample } from "../../../compile/presets.ts";
import type { DialectFacts } from "../../../dialects/dialect.ts";
import { DIALECTS, isDialectName } from "../../../dialects/table.ts";
import MODELS from "./models.json" with { type: "json" };
import { ImportReport, type Reading, rowOf, type Origin } from "../source.ts";
import {
  NameSpace,
  Secrets,
  asId,
  asName,
  guardrailPolicy,
  type PlannedEndpoint,
  type PlannedModel,
  type PlannedPolicy,
  type PlannedProvider,
  type PlannedRoute,
  type PlannedWorkspace,
} from "./rows.ts";

/** Values of the command line. */
export interface ImportAnswers {
  /** Id of the workspace where the source has none. */
  readonly workspace: string;
  /** Whether the providers may train on requests, by contract. */
  readonly trainsOnData: boolean;
  /** Models to write rows for if the source accepts any model. */
  readonly models: readonly string[];
  /** Slug of the source → preset. */
  readonly providers: ReadonlyMap<string, string>;
}

/** Label of keys whose callers check content themselves. */
const GUARDRAIL_REPLACED = "guardrails-replaced";

interface ProviderDraft extends Pick<PlannedProvider, "preset" | "row" | "region"> {
  /** Preferred id; numbered if it is taken. */
  readonly name: string;
  /**
   * Name of an address that the source does not have: rows with different ones are different
   * providers.
   */
  readonly missing: string | null;
  readonly origin: Origin;
}

/** A model at a provider, by the source. */
interface ModelDraft extends Pick<PlannedEndpoint, "upstream" | "origin"> {
  /** Name of the model itself, where the provider's differs. */
  readonly base?: string | null;
  readonly operation: ModelOperation;
  /** Capabilities that the source grants or denies; the others are assumed. */
  readonly stated?: ReadonlyMap<Capability, boolean>;
  readonly contextWindow?: number | null;
  readonly maxOutput?: number | null;
  /** Length of its vectors. */
  readonly dimensions?: number | null;
}

/** Tools that run at the provider. No caller gets them by default. */
const HOSTED: ReadonlySet<string> = new Set([
  "web_search",
  "file_search",
  "code_execution",
  "computer_use",
  "mcp",
]);
/** Default capabilities of a server of which only the protocol is known. */
const COMMON: readonly Capability[] = ["tools", "json_schema", "json_object"];
/**
 * Default where a protocol requires a limit, the caller gave none and the model is unknown.
 */
const DEFAULT_OUTPUT = 8000;

/** The rows that one import writes. Each source fills it; `routes-file.ts` makes files of it. */
export class ImportedConfiguration implements Reading {
  readonly report: ImportReport;
  readonly findings: Findings;
  readonly secrets = new Secrets();
  readonly answers: ImportAnswers;
  readonly providers: PlannedProvider[] = [];
  readonly models: PlannedModel[] = [];
  readonly endpoints: PlannedEndpoint[] = [];
  readonly routes: PlannedRoute[] = [];
  readonly workspaces: PlannedWorkspace[] = [];
  readonly policies: PlannedPolicy[] = [];
  /** Labels that policies look for. */
  readonly labels = new Set<string>();
  /** `health` of every provider. */
  health: JsonObject = {};
  /** Areas in which some callers have to stay: the policy `eu-residency` is written. */
  readonly residency = new Set<string>();
  /** Commands that create keys like those of the source. */
  readonly keyCommands: string[] = [];
  /** Presets whose models' capabilities were assumed, with the models. */
  readonly assumed = new Map<string, Map<string, Origin>>();
  readonly routeNames = new NameSpace();
  readonly workspaceNames = new NameSpace();
  readonly #modelNames = new NameSpace();
  readonly #providerNames = new NameSpace();
  readonly #endpointNames = new NameSpace();
  readonly #byRow = new Map<string, PlannedProvider>();

  /** @param file of values whose position names none. */
  constructor(file: string, answers: ImportAnswers) {
    this.report = new ImportReport(file);
    this.findings = new Findings(file);
    this.answers = answers;
  }

  /** Adds the row of a provider, or finds an equal one. */
  provider({ preset, name, row, region, missing, origin }: ProviderDraft): PlannedProvider {
    const key = canonicalJson({ preset, region, missing, ...row });
    const equal = this.#byRow.get(key);
    equal?.origins.push(origin);
    if (equal !== undefined) return equal;
    const dialect = row.dialect ?? presetOf(preset)?.provider.dialect;
    const added: PlannedProvider = {
      id: this.#providerNames.take(asId(name, "provider")),
      preset,
      facts:
        DIALECTS[typeof dialect === "string" && isDialectName(dialect) ? dialect : "openai-chat"],
      row,
      region,
      totals: new Set(),
      firstTokens: new Set(),
      origins: [origin],
    };
    this.#byRow.set(key, added);
    this.providers.push(added);
    return added;
  }

  /** The workspace of the command line, where the source has none. */
  addOnlyWorkspace(routes: readonly string[]): void {
    const id = this.workspaceNames.take(this.answers.workspace);
    this.workspaces.push({ id, routes, labels: [], limits: {}, origins: [] });
  }

  /** Adds the policy about routes whose content the source checked. */
  addGuardrailPolicy(routes: ReadonlySet<string>, origin: Origin): void {
    if (routes.size === 0) return;
    this.labels.add(GUARDRAIL_REPLACED);
    this.policies.push(guardrailPolicy(routes, GUARDRAIL_REPLACED));
    this.report.add(
      "decide",
      origin,
      `\`imported-guardrails\` is in shadow and denies nothing. Give callers that check content themselves the label \`${GUARDRAIL_REPLACED}\`, then promote it (docs/policy-lifecycle.md)`,
    );
  }

  /** Adds a model at a provider. @returns the reason if there can be no such row. */
  endpoint(provider: PlannedProvider, draft: ModelDraft): PlannedEndpoint | string {
    const { upstream, operation, origin } = draft;
    if (!servedBy(provider).includes(operation))
      return `the protocol of provider \`${provider.id}\` does not support ${operation}`;
    const shown = modelIdEvidence(upstream);
    const address = provider.row.base_url ?? presetOf(provider.preset)?.regions?.[provider.region];
    const host =
      typeof address === "string" && URL.canParse(address)
        ? hostEvidence(new URL(address).hostname)
        : null;
    if (shown && host && compareAreas(host.location, shown.location) === "elsewhere")
      return "the name of the model has another region than the address: correct one of them";
    const sample = presetOf(provider.preset)?.sample;
    const exact =
      sample?.upstream_model === upstream && textsOf(sample.row.operations).includes(operation);
    const model = this.#model(provider, draft, sample, exact);
    if (model === null)
      return "the length of its vectors is not known: add `output_vector_size` and `max_input_tokens` to its `model_info`, and import again";
    const capabilities = this.#capabilities(provider, draft, sample, exact);
    for (const capability of capabilities) model.capabilities.add(capability);
    const added: PlannedEndpoint = {
      id: this.#endpointNames.take(asName(`${model.id}-${provider.id}`, "endpoint")),
      model,
      provider,
      upstream,
      // The region in the model's name is wider or narrower than that of the host.
      region: shown === null ? provider.region : (shown.location.at(-1) ?? "global"),
      capabilities: new Set(capabilities),
      batch: (exact ? sample?.batch : null) ?? null,
      price: null,
      maxConcurrency: null,
      origin,
    };
    this.endpoints.push(added);
    return added;
  }

  /** Adds or finds the row of a model; `null` if the length of its vectors is unknown. */
  #model(
    provider: PlannedProvider,
    draft: ModelDraft,
    sample: PresetSample | undefined,
    exact: boolean,
  ): PlannedModel | null {
    const { upstream, base, operation } = draft;
    const vectors = operation === "embed" ? vectorsOf(draft) : null;
    if (operation === "embed" && vectors === null) return null;
    const keys = ["signature_family", ...(exact ? ["reasoning", "refuses", "accepts"] : [])];
    const rest = Object.fromEntries(
      Object.entries(operation === "generate" && sample ? sample.row : {}).filter(([key]) =>
        keys.includes(key),
      ),
    );
    const name = asName(base ?? upstream, "model");
    const dimensions = vectors?.dimensions ?? [];
    const same = canonicalJson([name, operation, rest, dimensions]);
    let model = this.models.find(
      (one) => canonicalJson([one.name, one.operation, one.rest, one.dimensions]) === same,
    );
    if (model === undefined) {
      model = {
        id: this.#modelNames.take(name),
        name,
        operation,
        capabilities: new Set(),
        contextWindow: null,
        maxOutput: null,
        defaultMaxOutput: null,
        dimensions,
        defaultDimensions: vectors?.defaultLength ?? null,
        rest,
        origins: [],
      };
      this.models.push(model);
    }
    model.origins.push(draft.origin);
    model.contextWindow = smaller(
      model.contextWindow,
      vectors?.window ?? tokens(draft.contextWindow),
    );
    model.maxOutput = smaller(model.maxOutput, tokens(draft.maxOutput));
    if (provider.facts.demandsOutputLimit && operation === "generate") {
      const output = sample?.row.default_max_output_tokens;
      model.defaultMaxOutput = typeof output === "number" ? output : DEFAULT_OUTPUT;
    }
    return model;
  }

  #capabilities(
    { preset, facts }: PlannedProvider,
    { operation, stated = new Map(), upstream, origin }: ModelDraft,
    sample: PresetSample | undefined,
    exact: boolean,
  ): readonly Capability[] {
    if (operation === "embed" || operation === "rerank") return [];
    const ofSample = textsOf(sample?.row.capabilities).filter(
      (name) => isCapability(name) && !HOSTED.has(name),
    );
    const assumed = operation !== "generate" ? [] : sample === undefined ? COMMON : ofSample;
    const statesAll = ([...COMMON, "image_input"] as const).every((name) => stated.has(name));
    if (!exact && operation === "generate" && !statesAll) {
      const models = this.assumed.get(preset ?? "") ?? new Map<string, Origin>();
      this.assumed.set(preset ?? "", models.set(upstream, origin));
    }
    return CAPABILITY_NAMES.filter(
      (name) => (stated.get(name) ?? assumed.includes(name)) && facts.expresses.includes(name),
    );
  }
}

/** The operations that a provider's protocol and flags allow. */
function servedBy({ facts, row, preset }: PlannedProvider): DialectFacts["operations"] {
  const flags = textsOf(row.flags ?? presetOf(preset)?.provider.flags);
  return facts.operations.filter((operation) =>
    flags.every((flag) => rowOf(facts.flags, flag)?.leaves?.includes(operation) ?? true),
  );
}

/** Lengths of vectors, the default length and the window; `null` if unknown. */
function vectorsOf({ upstream, base, dimensions, contextWindow }: ModelDraft) {
  const model = embeddingModel(base ?? upstream) ?? embeddingModel(upstream);
  const lengths = model?.dimensions ?? [];
  const longest = lengths.length > 1 ? lengths.at(-1) : null;
  const length = Math.floor(dimensions ?? 0);
  const hasLength = length >= 1 && length <= 65_536;
  const window = tokens(contextWindow) ?? model?.window ?? null;
  if (window === null) return null;
  if (hasLength && !lengths.includes(length))
    return { dimensions: [length], defaultLength: null, window };
  if (lengths.length === 0) return null;
  return {
    dimensions: lengths,
    defaultLength: hasLength ? length : (model?.default ?? longest ?? null),
    window,
  };
}

/** The smaller number; `null` without one. */
function smaller(left: number | null, right: number | null): number | null {
  const least = Math.min(left ?? Infinity, right ?? Infinity);
  return least === Infinity ? null : least;
}

/** Whole tokens within the range of `routes.yaml`. */
function tokens(value: number | null = null) {
  return value === null || value < 1 ? null : Math.min(1_000_000_000, Math.floor(value));
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** Kinds of calls, by their names in gateways, that are an operation here. */
const OPERATIONS: Readonly<Record<string, ModelOperation>> = {
  chat: "generate",
  completion: "generate",
  responses: "generate",
  embedding: "embed",
  rerank: "rerank",
  moderation: "moderate",
};

/** The kind of call of a model: the stated one, or that of its name; chat otherwise. */
export function modeOf(stated: string | null, model: string): string {
  return (
    stated ?? MODELS.kinds.find(({ form }) => new RegExp(form, "i").test(model))?.kind ?? "chat"
  );
}

/** `null`: no surface serves this kind of call. */
export function operationOf(mode: string): ModelOperation | null {
  return rowOf(OPERATIONS, mode) ?? null;
}

/**
 * Lengths of vectors and window of a model, which no gateway's configuration has; `undefined` for a
 * model that is not listed. The default length is the longest unless `default`. From the vendors'
 * pages that docs/providers.md and docs/presets.md cite.
 *
 * @param name with or without a path.
 */
function embeddingModel(name: string) {
  const bare = name.slice(name.lastIndexOf("/") + 1).replace(/:latest$/, "");
  return MODELS.embeddings.find(({ form }) => new RegExp(form, "i").test(bare));
}

import { canonicalJson, type JsonObject } from "../../../canon/json.ts";
import { compareAreas, type Evidence, hostEvidence, modelIdEvidence } from "../../../compile/checks/regions.ts";
import type { Findings } from "../../../compile/findings/findings.ts";
import { type Preset, presetOf } from "../../../compile/presets.ts";
import { DIALECTS, isDialectName } from "../../../dialects/table.ts";
import type { DialectFacts } from "../../../dialects/dialect-facts.ts";
import type { ImportReport } from "../import-report.ts";
import type { Spot } from "../fields.ts";
import { modelFor, type ModelRows, type ModelWish } from "./models.ts";
import { asName, asId, NameSpace } from "./names.ts";
import { guardrailPolicy } from "./policies.ts";
import type {
  PlannedEndpoint,
  PlannedModel,
  PlannedPolicy,
  PlannedProvider,
  PlannedRoute,
  PlannedWorkspace,
} from "./rows.ts";
import type { Secrets } from "./secrets.ts";

/** What the user answers on the command line. */
export interface ImportAnswers {
  /** Id of the workspace where the source has none. */
  readonly workspace: string;
  /** Whether the providers may train on requests, by contract. */
  readonly trainsOnData: boolean;
  /** Model ids to write rows for where the source takes any. */
  readonly models: readonly string[];
  /** Slug of the source → preset. */
  readonly providers: ReadonlyMap<string, string>;
}

/** Label of keys whose callers check content themselves. */
const GUARDRAIL_REPLACED = "guardrails-replaced";

interface ProviderWish {
  readonly preset: string | null;
  /** Id, if it is free. */
  readonly name: string;
  readonly row: JsonObject;
  readonly region: string;
  /** Name of an address that the source does not have: rows with different ones are different providers. */
  readonly missing: string | null;
  readonly spot: Spot;
}

/** Everything that one import writes. Each source fills it; `write/` makes the files of it. */
export class ImportedConfiguration implements ModelRows {
  readonly report: ImportReport;
  readonly findings: Findings;
  readonly secrets: Secrets;
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
  /** Commands that make keys like those of the source. */
  readonly keyCommands: string[] = [];
  /** Presets whose models' capabilities were assumed, with the models. */
  readonly assumed = new Map<string, Map<string, Spot>>();
  readonly routeNames = new NameSpace();
  readonly modelNames = new NameSpace();
  readonly workspaceNames = new NameSpace();
  readonly #providerNames = new NameSpace();
  readonly #endpointNames = new NameSpace();
  readonly #byRow = new Map<string, PlannedProvider>();

  constructor(report: ImportReport, findings: Findings, secrets: Secrets, answers: ImportAnswers) {
    this.report = report;
    this.findings = findings;
    this.secrets = secrets;
    this.answers = answers;
  }

  /** The row of a provider; the same for an equal one. */
  provider({ preset, name, row, region, missing, spot }: ProviderWish): PlannedProvider {
    const key = canonicalJson({ preset, region, missing, ...row });
    const known = this.#byRow.get(key);
    if (known !== undefined) {
      known.spots.push(spot);
      return known;
    }
    const made: PlannedProvider = {
      id: this.#providerNames.take(asId(name, "provider")),
      preset,
      facts: factsOf(row, preset === null ? undefined : presetOf(preset)),
      row,
      region,
      totals: new Set(),
      firstTokens: new Set(),
      spots: [spot],
    };
    this.#byRow.set(key, made);
    this.providers.push(made);
    return made;
  }

  /** The workspace of the command line, where the source has none. */
  addOnlyWorkspace(routes: readonly string[]): void {
    const id = this.workspaceNames.take(this.answers.workspace);
    this.workspaces.push({ id, routes, labels: [], limits: {}, spot: null });
  }

  /** The policy about routes of which the source checked content; none without such routes. */
  addGuardrailPolicy(routes: ReadonlySet<string>, spot: Spot): void {
    if (routes.size === 0) return;
    this.labels.add(GUARDRAIL_REPLACED);
    this.policies.push(guardrailPolicy(routes, GUARDRAIL_REPLACED));
    const text = `\`imported-guardrails\` is in shadow and denies nothing. Give callers that check content themselves the label \`${GUARDRAIL_REPLACED}\`, then promote it (docs/policy-lifecycle.md)`;
    this.report.add("decide", spot, text);
  }

  /** One model at one provider. @returns why there can be none. */
  endpoint(provider: PlannedProvider, wish: ModelWish): PlannedEndpoint | string {
    if (!servedBy(provider).includes(wish.operation))
      return `the protocol of provider \`${provider.id}\` does not support ${wish.operation}`;
    const shown = modelIdEvidence(wish.upstream);
    const host = shown === null ? null : hostShown(provider);
    if (shown !== null && host !== null && compareAreas(host.location, shown.location) === "elsewhere")
      return "the name of the model has another region than the address: correct one of them";
    const found = modelFor(this, provider, wish);
    if (typeof found === "string") return found;
    const made: PlannedEndpoint = {
      id: this.#endpointNames.take(asName(`${found.model.id}-${provider.id}`, "endpoint")),
      model: found.model,
      provider,
      upstream: wish.upstream,
      // What the provider's name of the model says is wider or narrower than the host, never another region.
      region: shown === null ? provider.region : (shown.location.at(-1) ?? "global"),
      capabilities: found.capabilities,
      batch: found.batch,
      price: null,
      maxConcurrency: null,
      spot: wish.spot,
    };
    this.endpoints.push(made);
    return made;
  }
}

function hostShown({ row, preset, region }: PlannedProvider): Evidence | null {
  const address = row["base_url"] ?? (preset === null ? undefined : presetOf(preset)?.regions?.[region]);
  return typeof address === "string" && URL.canParse(address) ? hostEvidence(new URL(address).hostname) : null;
}

function factsOf(row: JsonObject, preset: Preset | undefined): DialectFacts {
  const name = row["dialect"] ?? preset?.provider["dialect"];
  return typeof name === "string" && isDialectName(name) ? DIALECTS[name] : DIALECTS["openai-chat"];
}

/** The operations that a provider's protocol and flags leave. */
function servedBy({ facts, row, preset }: PlannedProvider): DialectFacts["operations"] {
  const flags = row["flags"] ?? (preset === null ? [] : presetOf(preset)?.provider["flags"]) ?? [];
  const named = Array.isArray(flags) ? flags.map(String) : [];
  return facts.operations.filter((operation) =>
    named.every((flag) => {
      const leaves = Object.hasOwn(facts.flags, flag) ? facts.flags[flag]?.leaves : undefined;
      return leaves === undefined || leaves.includes(operation);
    }),
  );
}

import type { Capability } from "../../../canon/capability.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { ModelOperation } from "../../../canon/operation.ts";
import type { Balance } from "../../../canon/table.ts";
import type { Fields, Origin } from "../source.ts";
import { looksLikeSecret } from "../../../compile/authored/literal-secrets.ts";
import { presetOf } from "../../../compile/presets.ts";
import { ID_FORM } from "../../terminal/command-line.ts";
import type { DialectFacts } from "../../../dialects/dialect.ts";

/** A rule that the generated policies share. */
const HELD_LABELS = `held contains label if some label in input.workspace.labels

held contains label if some label in input.key.labels
`;

function policy(id: string, text: string, mode: PlannedPolicy["mode"] = "enforce"): PlannedPolicy {
  return { id, mode, files: new Map([[`${id}.rego`, text]]) };
}

/** Sorted: the order of the source must not change the text. */
function set(texts: Iterable<string>): string {
  const sorted = [...new Set(texts)].toSorted();
  return sorted.length === 0
    ? "set()"
    : `{${sorted.map((text) => JSON.stringify(text)).join(", ")}}`;
}

function mapOfSets(sets: ReadonlyMap<string, readonly string[]>) {
  return [...sets]
    .map(([key, texts]) => `\t${JSON.stringify(key)}: ${set(texts)},\n`)
    .toSorted()
    .join("");
}

/**
 * Endpoints that serve by labels.
 *
 * @param tags endpoint → labels of which the caller needs one.
 * @param untagged endpoints for callers that have none of these labels.
 */
export function tagPolicy(
  tags: ReadonlyMap<string, readonly string[]>,
  untagged: ReadonlySet<string>,
): PlannedPolicy {
  return policy(
    "tag-routing",
    `# METADATA
# scope: package
# title: Endpoints with tags serve only callers with one of these labels
# custom:
#   signalbox:
#     contract: 1
#     id: tag-routing
#     owners: [group:platform]
#     constraints:
#       tag_matches: {effect: filter, reasons: [NO_ENDPOINT_FOR_THE_LABELS]}
package signalbox.policy.tag_routing

# Endpoint: labels of which the key or its workspace needs one.
tags := {
${mapOfSets(tags)}}

# Endpoints for callers that have none of the labels.
untagged := ${set(untagged)}

all_labels := ${set([...tags.values()].flat())}

${HELD_LABELS}
pass.tag_matches contains candidate.id if {
	some candidate in input.candidates
	count(tags[candidate.id] & held) > 0
}

pass.tag_matches contains candidate.id if {
	some candidate in input.candidates
	candidate.id in untagged
	count(held & all_labels) == 0
}

# Endpoints of routes without tags.
pass.tag_matches contains candidate.id if {
	some candidate in input.candidates
	not tags[candidate.id]
	not candidate.id in untagged
}
`,
  );
}

/** Routes with guardrails: Signalbox does not check content. */
export function guardrailPolicy(routes: Iterable<string>, label: string): PlannedPolicy {
  return policy(
    "imported-guardrails",
    `# METADATA
# scope: package
# title: Routes whose guardrails were not imported serve only callers that have another guardrail
# custom:
#   signalbox:
#     contract: 1
#     id: imported-guardrails
#     owners: [group:platform]
#     constraints:
#       guardrail_replaced: {effect: gate, reasons: [GUARDRAIL_NOT_REPLACED]}
package signalbox.policy.imported_guardrails

# Routes of which the source checked the content of requests or answers.
guarded := ${set(routes)}

${HELD_LABELS}
pass.guardrail_replaced if not input.request.route in guarded

# Label of keys whose callers check content themselves.
pass.guardrail_replaced if ${JSON.stringify(label)} in held
`,
    "shadow",
  );
}

/** Keys that may use some routes only, by a label that such a key has. */
export function keyListPolicy(allowed: ReadonlyMap<string, readonly string[]>): PlannedPolicy {
  return policy(
    "key-routes",
    `# METADATA
# scope: package
# title: Keys with a list of models use no other route
# custom:
#   signalbox:
#     contract: 1
#     id: key-routes
#     owners: [group:platform]
#     constraints:
#       route_listed: {effect: gate, reasons: [ROUTE_NOT_LISTED_FOR_THE_KEY]}
package signalbox.policy.key_routes

# Label of a key: routes that it may use.
allowed := {
${mapOfSets(allowed)}}

restricted := ${set(allowed.keys())}

held contains label if some label in input.key.labels

pass.route_listed if count(held & restricted) == 0

pass.route_listed if {
	some label in held
	input.request.route in allowed[label]
}
`,
  );
}

/**
 * A condition on the labels of key and workspace, in disjunctive form: any group of which all terms
 * hold.
 */
interface LabelTerm {
  readonly label: string;
  readonly holds: boolean;
}
export type LabelCondition = readonly (readonly LabelTerm[])[];

export interface Branch {
  /** `null`: all other callers. */
  readonly when: LabelCondition | null;
  readonly endpoints: readonly string[];
}

/** Routes whose endpoints depend on labels: the first branch whose condition holds. */
export function branchPolicy(routes: ReadonlyMap<string, readonly Branch[]>): PlannedPolicy {
  const blocks: string[] = [];
  for (const [index, [route, branches]] of [...routes].entries()) {
    const earlier: string[] = [];
    for (const [number, { when, endpoints }] of branches.entries()) {
      const rule = `branch_${index + 1}_${number + 1}`;
      for (const terms of when ?? []) {
        const lines = terms.map(
          ({ label, holds }) => `\t${holds ? "" : "not "}${JSON.stringify(label)} in held\n`,
        );
        blocks.push(`${rule} if {\n${lines.join("")}}\n`);
      }
      const conditions = [
        `\tinput.request.route == ${JSON.stringify(route)}\n`,
        ...earlier.map((name) => `\tnot ${name}\n`),
        ...(when === null ? [] : [`\t${rule}\n`]),
      ];
      blocks.push(`pass.branch_chosen contains candidate.id if {
${conditions.join("")}\tsome candidate in input.candidates
	candidate.id in ${set(endpoints)}
}
`);
      if (when !== null && when.length > 0) earlier.push(rule);
    }
  }
  return policy(
    "conditional-routing",
    `# METADATA
# scope: package
# title: Labels choose among the endpoints of a route
# custom:
#   signalbox:
#     contract: 1
#     id: conditional-routing
#     owners: [group:platform]
#     constraints:
#       branch_chosen: {effect: filter, reasons: [NO_BRANCH_FOR_THE_LABELS]}
package signalbox.policy.conditional_routing

# Routes with branches.
branching := ${set(routes.keys())}

${HELD_LABELS}
pass.branch_chosen contains candidate.id if {
	not input.request.route in branching
	some candidate in input.candidates
}

${blocks.join("\n")}`,
  );
}

/**
 * Rows of a routes.yaml before they are written. Values that several rows of the source share are
 * collected in them.
 */
export interface PlannedProvider {
  readonly id: string;
  readonly preset: string | null;
  readonly facts: DialectFacts;
  /** Without the members below. */
  readonly row: JsonObject;
  readonly region: string;
  /**
   * Of the rows of the source, seconds; `null` for a row without one, which keeps the default. The
   * longest is written.
   */
  readonly totals: Set<number | null>;
  readonly firstTokens: Set<number>;
  readonly origins: Origin[];
}

export interface PlannedModel {
  readonly id: string;
  /** Of the model in the source; the id differs where two models have it. */
  readonly name: string;
  readonly operation: ModelOperation;
  /** Of all its endpoints. */
  readonly capabilities: Set<Capability>;
  contextWindow: number | null;
  maxOutput: number | null;
  defaultMaxOutput: number | null;
  readonly dimensions: readonly number[];
  readonly defaultDimensions: number | null;
  /** Further keys of the row. */
  readonly rest: JsonObject;
  readonly origins: Origin[];
}

export interface PlannedEndpoint {
  readonly id: string;
  readonly model: PlannedModel;
  readonly provider: PlannedProvider;
  readonly upstream: string;
  readonly region: string;
  readonly capabilities: ReadonlySet<Capability>;
  readonly batch: JsonObject | null;
  price: JsonObject | null;
  maxConcurrency: number | null;
  readonly origin: Origin;
}

/**
 * Whether one endpoint can serve the requests of the other: the same operation and comparable
 * vectors.
 */
export function canReplace(
  { model: one }: PlannedEndpoint,
  { model: other }: PlannedEndpoint,
): boolean {
  return one.operation === other.operation && (one.operation !== "embed" || one === other);
}

/** Shares of a route's endpoints: at most a million each, with six digits. */
export function weightsOf(
  shares: readonly { readonly endpoint: PlannedEndpoint; readonly weight: number }[],
): ReadonlyMap<string, number> {
  const scale = Math.max(1, ...shares.map(({ weight }) => weight / 1_000_000));
  return new Map(
    shares.map(({ endpoint, weight }) => [
      endpoint.id,
      Number((Math.max(0, weight) / scale).toPrecision(6)),
    ]),
  );
}

export type PlannedFallback = PlannedEndpoint | { readonly route: string };

export interface PlannedRoute {
  readonly id: string;
  /** Of equal rank; the first one is the primary. */
  readonly endpoints: readonly [PlannedEndpoint, ...(readonly PlannedEndpoint[])];
  /** Default: `weighted`. */
  readonly balance?: Balance;
  readonly weights?: ReadonlyMap<string, number>;
  readonly fallbacks?: readonly PlannedFallback[];
  readonly maxAttempts?: number | null;
  /** Part of other routes only: no workspace approves it. */
  readonly internal?: boolean;
  readonly origins: readonly Origin[];
}

export interface PlannedWorkspace {
  readonly id: string;
  /** Ids of routes. */
  readonly routes: readonly string[];
  readonly labels: readonly string[];
  readonly limits: JsonObject;
  readonly origins: readonly Origin[];
}

/** A policy that replaces a setting of the source. */
export interface PlannedPolicy {
  readonly id: string;
  readonly mode: "shadow" | "enforce";
  /** Files below `policies/`, by path. */
  readonly files: ReadonlyMap<string, string>;
}

/** US dollars per token → per million tokens; other rates have their own units. */
const UNITS: Readonly<Record<string, number>> = { request: 1, search: 1000 };

/**
 * `price` of an endpoint, without the digits that a binary fraction adds.
 *
 * @param usd US dollars per token, per request and per search; `null`: no such price.
 */
export function priceRow(usd: Readonly<Record<string, number | null>>): JsonObject {
  const rates = Object.entries(usd).flatMap(([name, rate]) => {
    if (rate === null) return [];
    const price = Number((Math.max(0, rate) * (UNITS[name] ?? 1_000_000)).toPrecision(9));
    return [[name, Math.min(1_000_000, price)] as const];
  });
  return Object.fromEntries(rates);
}

/** Names of routes, models and endpoints. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,126}$/;

/**
 * Converts a text into a valid name; `fallback` for a probable credential.
 */
export function asName(text: string, fallback: string): string {
  return respelt(text, NAME, /[^A-Za-z0-9._:/-]+/g, 120) ?? fallback;
}

/** Converts a text into a valid lower-case id; `fallback` as for {@link asName}. */
export function asId(text: string, fallback: string): string {
  return respelt(text, ID_FORM, /[^a-z0-9_]+/g, 58) ?? fallback;
}

/**
 * `null` for a probable credential, and if no character remains. @param most characters, which
 * leave space for a number.
 */
function respelt(text: string, form: RegExp, others: RegExp, most: number): string | null {
  if (looksLikeSecret(text)) return null;
  const spelt = form.test(text)
    ? text
    : (form === ID_FORM ? text.toLowerCase() : text)
        .replaceAll(others, "-")
        .replace(/^[^A-Za-z0-9]+/, "")
        .slice(0, most)
        .replace(/-+$/, "");
  return spelt === "" || Object.hasOwn(Object.prototype, spelt) ? null : spelt;
}

/** Makes names unique. */
export class NameSpace {
  readonly #separator: string;
  readonly #used = new Set<string>();

  constructor(separator = "-") {
    this.#separator = separator;
  }

  reserve(name: string): void {
    this.#used.add(name);
  }

  /** The name, with a number behind it if it is used already. */
  take(name: string): string {
    let free = name;
    for (let number = 2; this.#used.has(free); number += 1)
      free = `${name}${this.#separator}${number}`;
    this.reserve(free);
    return free;
  }
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,126}$/;

/** Placeholders for a key of a self-hosted server without keys, without `-`, `_` and `/`. */
const NO_KEYS = [
  "none",
  "null",
  "empty",
  "dummy",
  "fake",
  "fakekey",
  "fakeapikey",
  "notneeded",
  "anything",
  "na",
  "nokey",
  "placeholder",
];

/** Whether a key's text is a placeholder, such as `none`. */
export function isKeyPlaceholder(text: string): boolean {
  const bare = text.toLowerCase().replaceAll(/[-_/]/g, "");
  return NO_KEYS.includes(bare) || /^x*$/.test(bare);
}

/**
 * The environment variables that routes.yaml refers to. Literal keys of the source are compared
 * here, and written nowhere.
 */
export class Secrets {
  /** Literal key → variable. */
  readonly #byKey = new Map<string, string>();
  /** Variables that the source names somewhere: no literal key gets one of them. */
  readonly names = new NameSpace("_");
  /** With the locations of the literal keys. */
  readonly #variables = new Map<string, readonly Origin[]>();

  #add(name: string, origins: readonly Origin[]): string {
    this.names.reserve(name);
    this.#variables.set(name, [...(this.#variables.get(name) ?? []), ...origins]);
    return name;
  }

  /** A variable that the source names; `null` where the name is invalid. */
  ofName(name: string): string | null {
    return VARIABLE.test(name) ? this.#add(name, []) : null;
  }

  /** The variable for a literal key of the source; the same for an equal key. */
  literal(key: string, suggested: string, origin: Origin): string {
    const name = this.#byKey.get(key) ?? this.names.take(variableName(suggested));
    this.#byKey.set(key, name);
    return this.#add(name, [origin]);
  }

  /** Sorted by name. */
  list(): readonly (readonly [variable: string, literals: readonly Origin[]])[] {
    return [...this.#variables].toSorted(([left], [right]) => (left < right ? -1 : 1));
  }
}

/** Makes the name of an environment variable of a text. */
export function variableName(text: string): string {
  return text
    .toUpperCase()
    .replaceAll(/[^A-Z0-9_]+/g, "_")
    .replace(/^(?=\d)/, "_")
    .slice(0, 120);
}

/** The variable for a literal key of the source; the report names it. */
export function literalKey(
  fields: Fields,
  name: string,
  suggested: string,
  secrets: Secrets,
): string {
  const variable = secrets.literal(fields.text(name) ?? "", suggested, fields.origin(name));
  fields.note(
    "decide",
    name,
    `this line holds a key: put it into the environment as \`${variable}\``,
  );
  return variable;
}

/** The variable that a preset reads its key from; `null` where it has none. */
export function presetVariable(preset: string | null): string | null {
  const auth = presetOf(preset)?.provider.auth;
  if (!isJsonObject(auth)) return null;
  const { env } = [auth.bearer, auth.secret].find(isJsonObject) ?? {};
  return typeof env === "string" ? env : null;
}

/** Line for a server without a key in the source, which may need one. */
export const MISSING_KEY =
  "the source has no key for this server: `auth: none`; write `auth` if it requires one";

/**
 * `auth` of a row whose key is in a variable, in the form of the preset.
 *
 * @param variable `null`: the provider wants no key.
 * @returns an empty object if it equals the preset's.
 */
export function keyedAuth(
  preset: string | null,
  variable: string | null,
): { readonly auth?: JsonValue } {
  const auth = presetOf(preset)?.provider.auth;
  if (variable === null) return auth === "none" ? {} : { auth: "none" };
  if (variable === presetVariable(preset)) return {};
  const { header, prefix } = isJsonObject(auth) ? auth : {};
  if (typeof header !== "string") return { auth: { bearer: { env: variable } } };
  return { auth: { header, secret: { env: variable }, ...(prefix !== undefined && { prefix }) } };
}

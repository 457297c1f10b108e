import { CAPABILITY_NAMES } from "../canon/capability.ts";
import { isJsonObject, type JsonObject } from "../canon/json.ts";
import { BUDGET_STEPS } from "../canon/limits.ts";
import { OPERATIONS } from "../canon/operation.ts";
import { LOCAL_TIME_SCHEMA } from "../canon/local-time.ts";
import {
  DAY_BUCKETS,
  HOUR_BUCKETS,
  type PolicyCandidate,
  type PolicyData,
  type PolicyInput,
} from "../canon/policy.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../canon/request.ts";
import { LATENCY_CLASSES, RETENTIONS, type Approvals, type RoutingTable } from "../canon/table.ts";

/** The `data` of policies: the approvals of every workspace and the region groups. */
export function policyData(table: RoutingTable): PolicyData {
  return {
    approved: {
      regions: byWorkspace(table, "regions"),
      providers: byWorkspace(table, "providers"),
      routes: byWorkspace(table, "routes"),
      capabilities: byWorkspace(table, "capabilities"),
      dimensions: byWorkspace(table, "dimensions"),
    },
    regions: table.regionGroups,
  };
}

function byWorkspace<Member extends keyof Approvals>(
  table: RoutingTable,
  member: Member,
): Readonly<Record<string, Approvals[Member]>> {
  const lists: Record<string, Approvals[Member]> = Object.create(null);
  for (const { id, approve } of Object.values(table.workspaces)) lists[id] = approve[member];
  return lists;
}

/**
 * The mode that a policy starts in where no store has it (`policies.initial_mode`): its own, that
 * of `*`, or shadow.
 */
export function initialMode(
  table: Pick<RoutingTable, "policies">,
  policy: string,
): "shadow" | "enforce" {
  const modes = table.policies.initialMode;
  const specific = Object.hasOwn(modes, policy) ? modes[policy] : undefined;
  return specific ?? (Object.hasOwn(modes, "*") ? modes["*"] : undefined) ?? "shadow";
}

/** One schema a member: a member that the type has and the schema lacks does not compile. */
type SchemasOf<Value> = { readonly [Name in keyof Value]-?: JsonObject };

/** @param optional members that an input may lack. */
function object<Value>(
  description: string,
  properties: SchemasOf<Value>,
  optional: readonly (keyof Value)[] = [],
): JsonObject {
  return {
    type: "object",
    description,
    additionalProperties: false,
    required: Object.keys(properties).filter((name) => !optional.some((member) => member === name)),
    properties: { ...properties },
  };
}

/** The names of a table, list by list. */
type TableNames = ReturnType<typeof namesOf>;

const enumOf = (description: string, names: readonly string[]): JsonObject => ({
  type: "string",
  description,
  enum: [...names],
});
const list = (description: string, items: JsonObject): JsonObject => ({
  type: "array",
  description,
  items,
});
const truth = (description: string): JsonObject => ({ type: "boolean", description });

const capability = enumOf("A capability.", CAPABILITY_NAMES);

const time = object<PolicyInput["time"]>("When the request is decided, in UTC.", {
  day: enumOf("`weekend`: Saturday and Sunday.", DAY_BUCKETS),
  hour: enumOf("Quarters of the day: from 00:00, 06:00, 12:00 and 18:00.", HOUR_BUCKETS),
});

/** One value of a closed list of the table; without a table anything of the type. */
function oneOf(
  type: "string" | "integer" | "number",
  description: string,
  values: readonly (string | number)[] | undefined,
) {
  if (values === undefined) return { type, description };
  // An empty `enum` is not valid JSON Schema.
  return values.length === 0
    ? { type, description, not: {} }
    : { type, description, enum: [...values] };
}

function candidateSchema(names: TableNames | null): JsonObject {
  const members: SchemasOf<PolicyCandidate> = {
    id: oneOf("string", "Endpoint id; what `pass.<constraint> contains` lists.", names?.endpoints),
    rank: enumOf("`primary` is the route's first choice.", ["primary", "fallback"]),
    model: oneOf("string", "Model id.", names?.models),
    provider: oneOf("string", "Provider id.", names?.providers),
    region: oneOf("string", "Region that processes the request.", names?.regions),
    dialect: oneOf("string", "Wire protocol.", names?.dialects),
    retention: enumOf("How long the provider keeps requests and answers.", RETENTIONS),
    trains_on_data: truth("Whether the provider trains on requests and answers."),
    capabilities: list("What the endpoint can do.", capability),
    signature_family: oneOf(
      "string",
      "Who can read its signed reasoning; `none` where it signs nothing.",
      names?.signatureFamilies,
    ),
    latency_class: enumOf(
      "What its answers are made for; `unspecified` where routes.yaml does not declare it.",
      [...LATENCY_CLASSES, "unspecified"],
    ),
    price: object<NonNullable<PolicyCandidate["price"]>>(
      "US dollars per million tokens; absent where unknown.",
      {
        input: oneOf("number", "Of input.", names?.inputPrices),
        output: oneOf("number", "Of output.", names?.outputPrices),
      },
    ),
  };
  return object<PolicyCandidate>("An endpoint that the request may go to.", members, ["price"]);
}

function inputSchema(names: TableNames | null): JsonObject {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Input of a Signalbox policy",
    ...object<PolicyInput>(
      "The members of a request that a policy can read: values of closed vocabularies, booleans and buckets.",
      {
        operation: enumOf("The operation of the request.", OPERATIONS),
        workspace: object<PolicyInput["workspace"]>("The tenant.", {
          id: oneOf("string", "Workspace id.", names?.workspaces),
          tier: oneOf("string", "Its tier, as routes.yaml names it.", names?.tiers),
          labels: list(
            "Its labels.",
            oneOf("string", "A value of vocabulary.labels.", names?.workspaceLabels),
          ),
        }),
        key: object<PolicyInput["key"]>(
          "The service key. A value outside the vocabulary reads `other`.",
          {
            environment: oneOf(
              "string",
              "A value of vocabulary.environments.",
              names?.environments,
            ),
            workload: oneOf("string", "A value of vocabulary.workloads.", names?.workloads),
            owner: oneOf("string", "A value of vocabulary.owners.", names?.owners),
            labels: list(
              "Its labels.",
              oneOf("string", "A value of vocabulary.labels.", names?.keyLabels),
            ),
          },
        ),
        request: object<PolicyInput["request"]>(
          "The shape of the request; nothing of its content.",
          {
            route: oneOf("string", "Route id.", names?.routes),
            needs: list("Capabilities that the request needs.", capability),
            stream: truth("Whether the answer is streamed."),
            context: enumOf("Estimated size of the input in tokens.", TOKEN_BUCKETS),
            max_output: enumOf("The most output allowed, in tokens.", TOKEN_BUCKETS),
            reasoning_effort: enumOf("Requested reasoning effort.", REASONING_EFFORTS),
            dimensions: oneOf(
              "integer",
              "Requested vector length; 0 if the request has none.",
              names?.dimensions,
            ),
            allow_fallbacks: truth("Whether the caller allows fallbacks."),
            data_collection: enumOf("Whether the caller allows providers that collect data.", [
              "allow",
              "deny",
            ]),
            zdr: truth("Whether the caller requires zero data retention."),
          },
        ),
        budget: object<PolicyInput["budget"]>(
          "Of the key and of its workspace, whichever has less left.",
          {
            remaining: enumOf("What is left of the budget; `unlimited` without one.", BUDGET_STEPS),
          },
        ),
        time,
        local_time: LOCAL_TIME_SCHEMA,
        candidates: list("Where the request may go, in the order to try.", candidateSchema(names)),
      },
    ),
  };
}

/**
 * JSON Schema (draft 2020-12, of which OPA's checker reads types and members) of
 * {@link PolicyInput}: what a policy may read. A path outside of it is refused when policies are
 * compiled.
 */
export const POLICY_INPUT_SCHEMA: JsonObject = inputSchema(null);

/** Strings that may name a time zone. */
const ZONES = /"(?<zone>UTC|[^"\n]*\/[^"\n]*|(?<=local_time\[")[^"\n]*)"/g;

/**
 * The same with a member for each string of the sources that may name a time zone: OPA's checker
 * knows no `additionalProperties`.
 */
export function inputSchemaFor(sources: readonly string[]): JsonObject {
  const { additionalProperties: clock, ...localTime } = LOCAL_TIME_SCHEMA;
  const { properties } = POLICY_INPUT_SCHEMA;
  const zones = sorted(
    sources.flatMap((text) => [...text.matchAll(ZONES)].map(({ groups }) => groups?.zone ?? "")),
  );
  return {
    ...POLICY_INPUT_SCHEMA,
    properties: {
      ...(isJsonObject(properties) ? properties : {}),
      local_time: {
        ...localTime,
        properties: Object.fromEntries(zones.map((zone) => [zone, clock])),
      },
    },
  };
}

/**
 * The same for one table, with every name that routes.yaml declares, used or not: what a policy may
 * compare with. No leaf of an input of this table can have a value that this schema does not list,
 * so the inputs are finite, and none can carry what a client wrote.
 *
 * @param dialects all wire protocols of this release.
 */
export function declaredInputSchema(table: RoutingTable, dialects: readonly string[]): JsonObject {
  const { labels } = table.vocabulary;
  return inputSchema({
    ...namesOf(table),
    workspaceLabels: sorted(labels),
    models: sorted(Object.keys(table.models)),
    providers: sorted(Object.keys(table.providers)),
    regions: sorted([
      ...Object.values(table.regionGroups).flat(),
      ...Object.values(table.providers).map(({ region }) => region),
    ]),
    dialects: sorted(dialects),
  });
}

function namesOf(table: RoutingTable) {
  const workspaces = Object.values(table.workspaces);
  const models = Object.values(table.models);
  const endpoints = Object.values(table.endpoints);
  const { environments, workloads, owners = [], labels } = table.vocabulary;
  return {
    workspaces: sorted(workspaces.map(({ id }) => id)),
    tiers: sorted(workspaces.map(({ tier }) => tier)),
    workspaceLabels: sorted(workspaces.flatMap((workspace) => workspace.labels)),
    environments: sorted([...environments, "other"]),
    workloads: sorted([...workloads, "other"]),
    owners: sorted([...owners, "other"]),
    keyLabels: sorted(labels),
    routes: sorted(Object.keys(table.routes)),
    dimensions: [...new Set([0, ...models.flatMap(({ dimensions }) => dimensions)])].toSorted(
      (a, b) => a - b,
    ),
    endpoints: sorted(endpoints.map(({ id }) => id)),
    models: sorted(endpoints.map(({ model }) => model)),
    providers: sorted(endpoints.map(({ provider }) => provider)),
    regions: sorted(endpoints.map(({ region }) => region)),
    dialects: sorted(endpoints.map(({ dialect }) => dialect)),
    signatureFamilies: sorted([
      "none",
      ...models.flatMap(({ signatureFamily }) => signatureFamily ?? []),
    ]),
    inputPrices: [...new Set(endpoints.flatMap(({ price }) => price?.input ?? []))],
    outputPrices: [...new Set(endpoints.flatMap(({ price }) => price?.output ?? []))],
  };
}

/** Each name once. */
function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].toSorted();
}

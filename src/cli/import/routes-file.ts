import { Document, isCollection, isMap, isNode, isPair, isScalar, type Pair } from "yaml";
import { CAPABILITIES, CAPABILITY_NAMES } from "../../canon/capability.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { DEFAULT_TIMEOUTS, milliseconds } from "../../compile/normalised/defaults.ts";
import { presetOf } from "../../compile/presets.ts";
import type { ImportedConfiguration } from "./configuration/imported-configuration.ts";
import { groupOf, ON_PREMISES } from "./configuration/provider-location.ts";
import type {
  PlannedEndpoint,
  PlannedModel,
  PlannedProvider,
  PlannedRoute,
  PlannedWorkspace,
} from "./configuration/rows.ts";
import type { Origin } from "./source.ts";

/** Larger imports are split into several files. */
const MOST_IN_ONE_FILE = 60;
/** Sections that get their own file in a larger import. */
const PARTS = ["providers", "models", "endpoints", "routes"];

/** Name of the environment in which the simulated provider answers. */
export const SIMULATED = "simulated";
/** Never set: no provider has its secret in that environment. */
const NEVER_SET = "SIGNALBOX_SIMULATED_PROVIDER_KEY";

const STYLE = { lineWidth: 0, flowCollectionPadding: true } as const;
/** Writes equal rows in full, without YAML anchors. */
const PLAIN = { aliasDuplicateObjects: false } as const;

/** Files of an import below its folder, by path, without the report. */
export function importFiles(
  imported: ImportedConfiguration,
  command: string,
  shown: string,
): ReadonlyMap<string, string> {
  const found = sectionsOf(imported);
  const sections = Object.entries<Section>(found);
  const isLarge = found.models.value.size > MOST_IN_ONE_FILE;
  const isSplit = ([name]: (typeof sections)[number]): boolean => isLarge && PARTS.includes(name);
  const start = Object.entries<Section>({
    version: { value: 1 },
    ...(isLarge && { include: { value: ["parts/*.yaml"] } }),
  });
  const head = ` Written by \`${command}\`. IMPORT.md beside it has the outcome of each line of the source;
 comments here name the lines that a row comes from. What a provider does with requests depends on your
 contracts: \`trains_on_data: true\` gets only requests with \`"provider": {"data_collection": "allow"}\`.`;
  return new Map([
    ...sections
      .filter(isSplit)
      .map((part): [string, string] => [
        `parts/${part[0]}.yaml`,
        documentText([part], ` Part of routes.yaml, by \`${command}\`.`, shown),
      ]),
    [
      "routes.yaml",
      documentText([...start, ...sections.filter((section) => !isSplit(section))], head, shown),
    ],
    [`routes.${SIMULATED}.yaml`, overlayText(found.providers.value)],
    ...imported.policies.flatMap(({ files }) =>
      [...files].map(([path, text]): [string, string] => [`policies/${path}`, text]),
    ),
  ]);
}

/** A section of routes.yaml. */
interface Section {
  readonly value: JsonValue | ReadonlyMap<string, JsonObject>;
  /** Locations in the source, for each item. */
  readonly origins?: readonly (readonly Origin[])[];
}

interface Row {
  readonly id: string;
  readonly origins: readonly Origin[];
}

/** Rows by id. A map keeps their order where ids are numbers. */
function rowSection<Of extends Row>(rows: Iterable<Of>, rowOf: (row: Of) => JsonObject) {
  const list = [...rows];
  return {
    value: new Map(list.map((row) => [row.id, rowOf(row)])),
    origins: list.map(({ origins }) => origins),
  };
}

function sectionsOf(imported: ImportedConfiguration) {
  const { routes, workspaces, policies } = imported;
  const labels = [
    ...new Set([...imported.labels, ...workspaces.flatMap((workspace) => workspace.labels)]),
  ];
  const endpoints = reachable(
    imported,
    routes.map(({ id }) => id),
  );
  const regions = new Set(endpoints.flatMap(({ region, provider }) => [provider.region, region]));
  const modes = Object.fromEntries(policies.map(({ id, mode }) => [id, mode]));
  return {
    regions: { value: Object.fromEntries(Map.groupBy(regions, groupOf)) },
    providers: rowSection(new Set(endpoints.map(({ provider }) => provider)), (row) =>
      providerRow(imported, row),
    ),
    models: rowSection(new Set(endpoints.map(({ model }) => model)), modelRow),
    endpoints: {
      value: endpoints.map(endpointRow),
      origins: endpoints.map(({ origin }) => [origin]),
    },
    routes: rowSection(routes, routeRow),
    workspaces: rowSection(workspaces, (row) => workspaceRow(imported, row)),
    ...(policies.length > 0 && { policies: { value: { initial_mode: modes } } }),
    ...(labels.length > 0 && { vocabulary: { value: { labels: labels.toSorted() } } }),
  };
}

/** Seconds. */
const LONGEST = 86_400;
const DEFAULT_TOTAL = milliseconds(DEFAULT_TIMEOUTS.total) / 1_000;
const DEFAULT_CONCURRENCY = 200;

/**
 * Whether the provider is a model server in the operator's network: only then is it known who
 * stores requests.
 */
export function isSelfHosted({ region, preset }: PlannedProvider): boolean {
  return (
    region === ON_PREMISES && preset !== null && presetOf(preset)?.provider.network === "private"
  );
}

function providerRow(
  { endpoints, answers, health }: ImportedConfiguration,
  provider: PlannedProvider,
): JsonObject {
  const isPrivate = isSelfHosted(provider);
  const most = Math.max(
    ...endpoints.map((row) => (row.provider === provider ? (row.maxConcurrency ?? 0) : 0)),
  );
  const { totals, firstTokens } = provider;
  // The longest of the rows, so that no call gets less time than before.
  const total = [...totals].some((one) => one !== null)
    ? Math.max(...[...totals].map((one) => one ?? DEFAULT_TOTAL))
    : null;
  // No limit within an attempt is longer than the attempt.
  const first = Math.min(Math.max(...firstTokens), total ?? LONGEST);
  const times = {
    total: total === null ? null : duration(total),
    first_token: firstTokens.size === 0 ? null : duration(first),
  };
  return present({
    preset: provider.preset,
    ...provider.row,
    region: provider.region,
    trains_on_data: !isPrivate && answers.trainsOnData,
    retention: isPrivate ? "none" : null,
    timeouts: filled(present(times)),
    health: filled(health),
    max_concurrency: most > DEFAULT_CONCURRENCY ? most : null,
  });
}

/**
 * Seconds as routes.yaml writes them: at least a millisecond, at most a day, to the second where
 * milliseconds have more than seven digits.
 */
export function duration(seconds: number): string {
  const rounded = Math.round(1000 * Math.min(LONGEST, Math.max(0.001, seconds)));
  const isWholeSeconds = rounded % 1000 === 0 || rounded > 9_999_999;
  return isWholeSeconds ? `${Math.round(rounded / 1000)}s` : `${rounded}ms`;
}

function modelRow(model: PlannedModel): JsonObject {
  const { maxOutput, defaultMaxOutput } = model;
  return present({
    operations: [model.operation],
    capabilities: filled([...model.capabilities]),
    context_window: model.contextWindow,
    max_output_tokens: model.operation === "generate" ? maxOutput : null,
    default_max_output_tokens:
      defaultMaxOutput === null ? null : Math.min(defaultMaxOutput, maxOutput ?? Infinity),
    dimensions: filled(model.dimensions),
    default_dimensions: model.defaultDimensions,
    ...model.rest,
  });
}

function endpointRow(endpoint: PlannedEndpoint): JsonObject {
  const { model, provider, capabilities } = endpoint;
  return present({
    id: endpoint.id,
    model: model.id,
    provider: provider.id,
    upstream_model: endpoint.upstream,
    region: endpoint.region === provider.region ? null : endpoint.region,
    capabilities: capabilities.size < model.capabilities.size ? [...capabilities] : null,
    price: endpoint.price,
    max_concurrency: endpoint.maxConcurrency,
    batch: endpoint.batch,
  });
}

function routeRow({
  endpoints: [primary, ...peers],
  balance = "weighted",
  weights = new Map(),
  fallbacks = [],
  maxAttempts = null,
}: PlannedRoute): JsonObject {
  return present({
    primary: primary.id,
    ...(peers.length > 0 && {
      peers: peers.map(({ id }) => id),
      balance,
      weights: filled(Object.fromEntries(weights)),
    }),
    fallbacks: filled(fallbacks.map((row) => ("id" in row ? row.id : row))),
    on_gap: peers.length + fallbacks.length > 0 ? "narrow" : null,
    max_attempts: maxAttempts,
  });
}

function workspaceRow(imported: ImportedConfiguration, workspace: PlannedWorkspace): JsonObject {
  const endpoints = reachable(imported, workspace.routes);
  const dimensions = [...new Set(endpoints.flatMap(({ model }) => model.dimensions))];
  const windows = endpoints.flatMap(({ model }) =>
    model.operation === "embed" ? [model.contextWindow ?? 0] : [],
  );
  const moderation = imported.routes.find(
    ({ id, endpoints: [primary] }) =>
      workspace.routes.includes(id) && primary.model.operation === "moderate",
  );
  return present({
    tier: "standard",
    labels: filled(workspace.labels),
    approve: present({
      routes: workspace.routes,
      regions: [...new Set(endpoints.map(({ region }) => region))],
      providers: [...new Set(endpoints.map(({ provider }) => provider.id))],
      capabilities: CAPABILITY_NAMES.filter(
        (name) =>
          CAPABILITIES[name] && endpoints.some(({ capabilities }) => capabilities.has(name)),
      ),
      dimensions: filled(dimensions.toSorted((left, right) => left - right)),
      context_window: windows.length === 0 ? null : Math.max(...windows),
    }),
    default_moderation_route: moderation?.id ?? null,
    limits: filled(workspace.limits),
  });
}

/** A row without the keys that have no value. */
function present(row: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
}

/** `null` for an empty list or mapping. */
function filled<Value extends object>(value: Value): Value | null {
  return Object.keys(value).length === 0 ? null : value;
}

/** Endpoints of routes, those of routes among their fallbacks too. */
export function reachable(
  imported: ImportedConfiguration,
  ids: readonly string[],
): readonly PlannedEndpoint[] {
  const found = new Set<PlannedEndpoint>();
  const opened = new Set<string>();
  const open = (id: string): void => {
    if (opened.has(id)) return;
    opened.add(id);
    const route = imported.routes.find((row) => row.id === id);
    if (route === undefined) return;
    for (const next of [...route.endpoints, ...(route.fallbacks ?? [])])
      if ("id" in next) found.add(next);
      else open(next.route);
  };
  for (const id of ids) open(id);
  return [...found];
}

function documentText(
  sections: readonly (readonly [string, Section])[],
  head: string,
  shown: string,
): string {
  const document = new Document({});
  document.commentBefore = head;
  for (const [name, section] of sections) document.add(sectionPair(document, name, section, shown));
  return document.toString(STYLE);
}

function sectionPair(
  document: Document,
  name: string,
  { value, origins }: Section,
  shown: string,
): Pair {
  const key = document.createNode(name);
  key.spaceBefore = true;
  const node = document.createNode(value, PLAIN);
  if (isCollection(node)) {
    for (const [index, item] of node.items.entries()) {
      const origin = originText(origins?.[index] ?? [], shown);
      const keyNode: unknown = isPair(item) ? item.key : item;
      if (origin !== null && isNode(keyNode)) keyNode.commentBefore = origin;
    }
    if (node.items.length === 0) node.flow = true;
    flowBelow(node, isMap(node) && origins !== undefined ? 2 : 1);
  }
  return document.createPair(key, node);
}

/** Collections so many steps below a node are written on one line; `approve` is one step longer. */
function flowBelow(node: unknown, steps: number): void {
  if (!isCollection(node)) return;
  if (steps === 0) {
    node.flow = true;
    return;
  }
  for (const item of node.items) {
    const value: unknown = isPair(item) ? item.value : item;
    const isApproveList = isPair(item) && isScalar(item.key) && item.key.value === "approve";
    flowBelow(value, isApproveList ? steps : steps - 1);
  }
}

/** ` config.yaml:3, 17` */
function originText(origins: readonly Origin[], shown: string): string | null {
  const files = Map.groupBy(origins, ({ at }) => at.file ?? shown);
  const texts = [...files].map(([file, all]) => {
    const lines = [...new Set(all.map(({ at }) => at.line))].toSorted((one, other) => one - other);
    return `${file}:${lines.slice(0, 6).join(", ")}${lines.length > 6 ? " and others" : ""}`;
  });
  return texts.length === 0 ? null : ` ${texts.join("; ")}`;
}

/**
 * The overlay of the simulated provider: it leaves every secret unset, so no provider is called.
 */
function overlayText(providers: ReadonlyMap<string, JsonObject>): string {
  const rows = [...providers].map(([id, { auth }]) => {
    // An overlay's mapping merges with the row's: the other form of `auth` has to go.
    const removed = Object.keys(isJsonObject(auth) ? auth : {}).map((key) => [key, null]);
    const simulated = { bearer: { env: NEVER_SET }, on_missing_secret: "simulate" };
    return [id, { auth: { ...Object.fromEntries(removed), ...simulated } }];
  });
  const document = new Document({ providers: Object.fromEntries(rows) }, PLAIN);
  document.commentBefore = ` The environment \`${SIMULATED}\`: the simulated provider answers for every row, and none is called.

   signalbox serve --environment ${SIMULATED} --demo

 Remove this file when you serve real traffic.`;
  flowBelow(document.contents, 2);
  return document.toString(STYLE);
}

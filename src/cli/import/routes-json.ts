import type { JsonObject, JsonValue } from "../../canon/json.ts";
import { DEFAULT_TIMEOUTS } from "../../compile/normalised/defaults.ts";
import { milliseconds } from "../../compile/normalised/durations.ts";
import { presetOf } from "../../compile/presets.ts";
import { approvable } from "./configuration/models.ts";
import type { ImportedConfiguration } from "./configuration/imported-configuration.ts";
import { groupOf, OWN } from "./configuration/provider-location.ts";
import type {
  PlannedEndpoint,
  PlannedModel,
  PlannedProvider,
  PlannedRoute,
  PlannedWorkspace,
} from "./configuration/rows.ts";
import type { Spot } from "./fields.ts";

/** A row, and what it was made of. */
export interface WrittenRow {
  readonly value: JsonValue;
  readonly spots: readonly Spot[];
}

/** The sections of a routes.yaml, with the origin of each row. */
export interface WrittenSections {
  readonly regions: JsonObject;
  readonly providers: ReadonlyMap<string, WrittenRow>;
  readonly models: ReadonlyMap<string, WrittenRow>;
  readonly endpoints: readonly WrittenRow[];
  readonly routes: ReadonlyMap<string, WrittenRow>;
  readonly workspaces: ReadonlyMap<string, WrittenRow>;
  readonly policies: JsonObject | null;
  readonly vocabulary: JsonObject | null;
}

const LONGEST = 86_400;

/** Seconds. */
const DEFAULT_TOTAL = milliseconds(DEFAULT_TIMEOUTS.total) / 1_000;
const DEFAULT_CONCURRENCY = 200;

export function sectionsOf(imported: ImportedConfiguration): WrittenSections {
  const labels = [...new Set([...imported.labels, ...imported.workspaces.flatMap((workspace) => workspace.labels)])];
  const ids = imported.routes.map(({ id }) => id);
  const endpoints = reachable(imported, ids);
  const providers = new Set(endpoints.map(({ provider }) => provider));
  const models = new Set(endpoints.map(({ model }) => model));
  const regions = new Set(endpoints.flatMap(({ region, provider }) => [provider.region, region]));
  const modes = Object.fromEntries(imported.policies.map(({ id, mode }) => [id, mode]));
  return {
    regions: Object.fromEntries(Map.groupBy(regions, groupOf)),
    providers: new Map([...providers].map((row) => [row.id, { value: providerRow(imported, row), spots: row.spots }])),
    models: new Map([...models].map((row) => [row.id, { value: modelRow(row), spots: row.spots }])),
    endpoints: endpoints.map((row) => ({ value: endpointRow(row), spots: [row.spot] })),
    routes: new Map(imported.routes.map((row) => [row.id, { value: routeRow(row), spots: [row.spot] }])),
    workspaces: new Map(
      imported.workspaces.map((row) => [
        row.id,
        { value: workspaceRow(imported, row), spots: row.spot === null ? [] : [row.spot] },
      ]),
    ),
    policies: imported.policies.length === 0 ? null : { initial_mode: modes },
    vocabulary: labels.length === 0 ? null : { labels: labels.toSorted() },
  };
}

/** Whether the source names a model server in a network of one's own: no other address shows who keeps requests. */
export function isSelfHosted({ region, preset }: PlannedProvider): boolean {
  return region === OWN && preset !== null && presetOf(preset)?.provider["network"] === "private";
}

function providerRow(imported: ImportedConfiguration, provider: PlannedProvider): JsonObject {
  const own = isSelfHosted(provider);
  const most = Math.max(
    0,
    ...imported.endpoints.filter((row) => row.provider === provider).map(({ maxConcurrency }) => maxConcurrency ?? 0),
  );
  const total = longestTotal(provider);
  const firstToken = provider.firstTokens.size === 0 ? null : Math.max(...provider.firstTokens);
  return present({
    preset: provider.preset,
    ...provider.row,
    region: provider.region,
    trains_on_data: own ? false : imported.answers.trainsOnData,
    retention: own ? "none" : null,
    timeouts: filled(timeoutsOf(total, firstToken)),
    health: filled(imported.health),
    max_concurrency: most > DEFAULT_CONCURRENCY ? most : null,
  });
}

/** One row of several must not make the calls of the others shorter than they were; `null` where no row has a time. */
function longestTotal({ totals }: PlannedProvider): number | null {
  if ([...totals].every((total) => total === null)) return null;
  return Math.max(...[...totals].map((total) => total ?? DEFAULT_TOTAL));
}

/** No limit within an attempt is longer than the attempt. */
function timeoutsOf(total: number | null, firstToken: number | null): JsonObject {
  const first = firstToken === null ? null : Math.min(firstToken, total ?? firstToken);
  return present({
    total: total === null ? null : duration(total),
    first_token: first === null ? null : duration(first),
  });
}

/** Seconds as routes.yaml writes them: at least a millisecond, at most a day. */
export function duration(seconds: number): string {
  const bounded = Math.min(LONGEST, Math.max(0.001, seconds));
  return Number.isInteger(bounded) ? `${bounded}s` : `${Math.max(1, Math.round(bounded * 1000))}ms`;
}

function modelRow(model: PlannedModel): JsonObject {
  const { contextWindow, maxOutput, defaultMaxOutput } = model;
  const usual =
    defaultMaxOutput === null || maxOutput === null ? defaultMaxOutput : Math.min(defaultMaxOutput, maxOutput);
  return present({
    operations: [model.operation],
    capabilities: filled([...model.capabilities]),
    context_window: contextWindow,
    max_output_tokens: model.operation === "generate" ? maxOutput : null,
    default_max_output_tokens: usual,
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

function routeRow(route: PlannedRoute): JsonObject {
  const { primary, peers, balance, weights, fallbacks } = route;
  return present({
    primary: primary.id,
    peers: filled(peers.map(({ id }) => id)),
    balance: peers.length > 0 ? balance : null,
    weights: peers.length > 0 ? filled(Object.fromEntries(weights)) : null,
    fallbacks: filled(fallbacks.map((row) => ("id" in row ? row.id : row))),
    on_gap: peers.length + fallbacks.length > 0 ? "narrow" : null,
    max_attempts: route.maxAttempts,
  });
}

function workspaceRow(imported: ImportedConfiguration, workspace: PlannedWorkspace): JsonObject {
  const endpoints = reachable(imported, workspace.routes);
  const dimensions = [...new Set(endpoints.flatMap(({ model }) => model.dimensions))];
  const windows = endpoints.flatMap(({ model }) => (model.operation === "embed" ? [model.contextWindow ?? 0] : []));
  const moderation = imported.routes.find(
    ({ id, primary }) => workspace.routes.includes(id) && primary.model.operation === "moderate",
  );
  return present({
    tier: "standard",
    labels: filled(workspace.labels),
    approve: present({
      routes: workspace.routes,
      regions: [...new Set(endpoints.map(({ region }) => region))],
      providers: [...new Set(endpoints.map(({ provider }) => provider.id))],
      capabilities: approvable(endpoints.flatMap(({ capabilities }) => [...capabilities])),
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
export function reachable(imported: ImportedConfiguration, ids: readonly string[]): readonly PlannedEndpoint[] {
  const found = new Set<PlannedEndpoint>();
  const opened = new Set<string>();
  const open = (id: string): void => {
    if (opened.has(id)) return;
    opened.add(id);
    const route = imported.routes.find((row) => row.id === id);
    if (route === undefined) return;
    for (const next of [route.primary, ...route.peers, ...route.fallbacks])
      if ("id" in next) found.add(next);
      else open(next.route);
  };
  for (const id of ids) open(id);
  return [...found];
}

import { formatRevision } from "../canon/policy.ts";
import type { CallKind } from "../canon/operation.ts";
import type { EndpointRow } from "../canon/table.ts";
import { HEALTH_STATES } from "../dispatch/health.ts";
import type { Connection } from "../dispatch/connections.ts";
import type { Runtime } from "../http/runtime.ts";
import type { BudgetUse } from "../limits/usage.ts";
import type { Store } from "../store/port.ts";
import { EXPIRY_NOTICE } from "./alerts.ts";
import { reading, single, type Family } from "../telemetry/families.ts";

export interface StatusSources {
  readonly runtime: Pick<
    Runtime,
    | "snapshots"
    | "endpoints"
    | "quotas"
    | "budgets"
    | "build"
    | "degraded"
    | "accepting"
    | "policies"
  >;
  readonly evidence: Pick<Store["evidence"], "health">;
  /** Keys that this process has loaded. */
  readonly keyCount: () => number;
  /** Workspace → keys that expire before the moment and have no replacement. */
  readonly keysExpiring: (now: number, before: number) => ReadonlyMap<string, number>;
  /** When the certificate of the public listener expires; `null` without TLS. */
  readonly certificateExpiry: () => number | null;
  readonly version: string;
  /** Log lines that were dropped because nothing read them in time. */
  readonly droppedLines: () => number;
  /** Spans that no collector got. */
  readonly droppedSpans: () => number;
}

/** `operation` is the kind of calls (`CallKind`): each has its own health. */
const LABELS = ["endpoint", "provider", "operation"] as const;

const MILLISECONDS = 1_000;

const MICRO = 1_000_000;

/**
 * The current status of endpoints, queues, evidence, keys and configuration. Read at each scrape.
 */
export function statusMetrics(sources: StatusSources): readonly Family[] {
  return [
    ...endpointMetrics(sources),
    ...queueMetrics(sources),
    ...evidenceMetrics(sources),
    ...stateMetrics(sources),
    ...budgetMetrics(sources),
    single(
      "counter",
      "signalbox_log_lines_dropped",
      "Log lines that were dropped because nothing read them in time.",
      sources.droppedLines,
    ),
    single(
      "counter",
      "signalbox_spans_lost",
      "Spans that were dropped: the queue was full, or an export failed.",
      sources.droppedSpans,
    ),
  ];
}

type EndpointStatus = ReturnType<Runtime["endpoints"]["status"]>;

function endpointMetrics({
  runtime: { endpoints: tracker, snapshots },
}: StatusSources): readonly Family[] {
  const table = () => snapshots.current.decider.table;
  const endpoints = (): readonly EndpointRow[] => Object.values(table().endpoints);
  const each = <Row>(
    read: (
      status: EndpointStatus,
      endpoint: string,
      provider: string,
      operation: CallKind,
    ) => readonly Row[],
  ): readonly Row[] => {
    const now = performance.now();
    return endpoints().flatMap(({ id, provider, model }) => {
      // Before its first call, an endpoint has the series of its model's operations.
      const kinds = new Set([...(table().models[model]?.operations ?? []), ...tracker.kindsOf(id)]);
      return [...kinds].flatMap((kind) =>
        read(tracker.of(kind).status(id, now), id, provider, kind),
      );
    });
  };
  /** One value of each endpoint; none where it is `null`. */
  const value = (name: string, help: string, read: (status: EndpointStatus) => number | null) =>
    reading("gauge", name, help, LABELS, () =>
      each((status, endpoint, provider, operation) => {
        const found = read(status);
        return found === null ? [] : [[found, endpoint, provider, operation]];
      }),
    );
  return [
    reading(
      "gauge",
      "signalbox_endpoint_info",
      "Always 1: the attributes of an endpoint.",
      ["endpoint", "provider", "region"],
      () => endpoints().map(({ id, provider, region }) => [1, id, provider, region]),
    ),
    reading(
      "gauge",
      "signalbox_endpoint_state",
      "1 for the state of the endpoint, by the calls of this process.",
      [...LABELS, "state"],
      () =>
        each(({ state }, ...labels) =>
          HEALTH_STATES.map((one) => [one === state ? 1 : 0, ...labels, one]),
        ),
    ),
    reading(
      "counter",
      "signalbox_endpoint_ejections",
      "Times that the endpoint was taken out of service for its failures.",
      LABELS,
      () =>
        each((_status, id, provider, kind) => [
          [tracker.of(kind).ejections(id), id, provider, kind],
        ]),
    ),
    value("signalbox_endpoint_in_flight", "Calls under way.", (status) => status.in_flight),
    value(
      "signalbox_endpoint_consecutive_failures",
      "Failed calls since the last good one.",
      (status) => status.consecutive_failures,
    ),
    reading(
      "gauge",
      "signalbox_endpoint_first_token_seconds",
      "Time to the first output of the latest calls, by percentile; absent without recent measurements.",
      [...LABELS, "quantile"],
      () =>
        each(({ latency: { p50, p90 } }, ...labels) => [
          ...(p50 === null ? [] : [[p50 / MILLISECONDS, ...labels, "0.5"] as const]),
          ...(p90 === null ? [] : [[p90 / MILLISECONDS, ...labels, "0.9"] as const]),
        ]),
    ),
    value(
      "signalbox_endpoint_tokens_per_second",
      "Output tokens a second of the latest calls, the median; absent without recent measurements.",
      (status) => status.throughput.p50,
    ),
  ];
}

function queueMetrics({ runtime: { snapshots } }: StatusSources): readonly Family[] {
  const each = <Row>(
    read: (connection: Connection, id: string) => readonly Row[],
  ): readonly Row[] =>
    [...snapshots.current.connections].flatMap(([id, connection]) => read(connection, id));
  return [
    reading(
      "gauge",
      "signalbox_provider_in_flight",
      "Calls that hold a slot of the provider's limit.",
      ["provider"],
      () => each(({ limiter }, id) => [[limiter.inFlight, id]]),
    ),
    reading(
      "gauge",
      "signalbox_provider_concurrency_limit",
      "Maximum number of calls at once.",
      ["provider"],
      () => each(({ provider }, id) => [[provider.maxConcurrency, id]]),
    ),
    reading(
      "gauge",
      "signalbox_queue_depth",
      "Calls that wait for a slot: of the provider's limit, or of an endpoint's own where one is named.",
      ["provider", "endpoint"],
      () =>
        each(({ limiter, endpointLimiters }, id) => [
          [limiter.waiting, id, ""] as const,
          ...[...endpointLimiters].map(([endpoint, one]) => [one.waiting, id, endpoint] as const),
        ]),
    ),
  ];
}

function evidenceMetrics({ evidence, runtime }: StatusSources): readonly Family[] {
  return [
    single(
      "gauge",
      "signalbox_evidence_available",
      "1 where evidence is written; 0 where requests may be refused because evidence cannot be written.",
      () => (evidence.health().state === "ok" ? 1 : 0),
    ),
    single(
      "gauge",
      "signalbox_evidence_waiting",
      "Decisions that are not yet on disk.",
      () => evidence.health().waiting,
    ),
    single(
      "gauge",
      "signalbox_evidence_unconfirmed_seconds",
      "How long the store has owed the confirmation of a write; 0 where it owes none.",
      () => evidence.health().owing / 1000,
    ),
    single(
      "counter",
      "signalbox_evidence_refused",
      "Decisions that could not be confirmed in time; their requests were refused. Most are written late.",
      () => evidence.health().refused,
    ),
    single(
      "counter",
      "signalbox_evidence_lost",
      "Outcomes that could not be kept; those decisions read unknown.",
      () => evidence.health().lost,
    ),
    single(
      "gauge",
      "signalbox_evidence_position",
      "Newest row of the evidence log as this process knows it; absent before its first.",
      () => evidence.health().head?.position ?? null,
    ),
    single(
      "gauge",
      "signalbox_limits_available",
      "1 where limits can be counted; 0 where limited requests are refused.",
      () => (runtime.quotas.state === "ok" ? 1 : 0),
    ),
  ];
}

/** Of workspaces only, whose number routes.yaml bounds; those of keys are in `GET /v1/spend`. */
function budgetMetrics({ runtime: { snapshots, budgets } }: StatusSources): readonly Family[] {
  const family = (name: string, help: string, read: (use: BudgetUse) => number) =>
    reading("gauge", name, help, ["workspace", "measure", "window"], () =>
      budgets.usesOfWorkspaces(snapshots.current.decider.table.workspaces).map((use) => {
        const measure = use.measure === "micro_usd" ? "usd" : use.measure;
        return [read(use), use.id, measure, use.window];
      }),
    );
  return [
    family(
      "signalbox_budget_limit",
      "Budget of a workspace in its window: US dollars, tokens or requests.",
      ({ measure, limit }) => (measure === "micro_usd" ? limit / MICRO : limit),
    ),
    family(
      "signalbox_budget_used_ratio",
      "Share of the budget that all replicas have used in the running window, as read at the scrape before.",
      ({ limit, used }) => (limit === 0 ? 1 : used / limit),
    ),
    family(
      "signalbox_budget_remaining",
      "What is left of the budget in the running window: US dollars, tokens or requests; at least 0.",
      ({ measure, limit, used }) =>
        Math.max(0, limit - used) / (measure === "micro_usd" ? MICRO : 1),
    ),
  ];
}

function stateMetrics({
  runtime,
  keyCount,
  keysExpiring,
  certificateExpiry,
  version,
}: StatusSources): readonly Family[] {
  const { snapshots, build } = runtime;
  return [
    single(
      "gauge",
      "signalbox_keys",
      "Keys in the memory of this process, whatever their state.",
      keyCount,
    ),
    reading(
      "gauge",
      "signalbox_keys_expiring",
      "Valid keys that expire within seven days and have no replacement.",
      ["workspace"],
      () =>
        [...keysExpiring(Date.now(), Date.now() + EXPIRY_NOTICE.keys)].map(([workspace, count]) => [
          count,
          workspace,
        ]),
    ),
    single(
      "gauge",
      "signalbox_certificate_expiry_timestamp_seconds",
      "When the certificate of the public listener expires, since the epoch; absent without TLS.",
      () => {
        const expiry = certificateExpiry();
        return expiry === null ? null : expiry / MILLISECONDS;
      },
    ),
    reading(
      "gauge",
      "signalbox_table_info",
      "Always 1: the routing table in force.",
      ["revision"],
      () => [[1, snapshots.current.decider.table.revision]],
    ),
    reading(
      "gauge",
      "signalbox_policy_info",
      "Always 1: a policy's slot and its content.",
      ["policy", "slot", "revision"],
      () =>
        snapshots.current.decider.policies.policies.map(({ identity: { id, slot, revision } }) => [
          1,
          id,
          slot,
          formatRevision(revision) ?? "",
        ]),
    ),
    reading(
      "gauge",
      "signalbox_policy_suspended",
      "Always 1: a candidate that is no longer evaluated, because an evaluation exceeded its work limit.",
      ["policy", "revision"],
      () =>
        runtime.policies
          .suspended()
          .map(({ id, revision }) => [1, id, formatRevision(revision) ?? ""]),
    ),
    reading(
      "gauge",
      "signalbox_build_info",
      "Always 1: the version that runs.",
      ["version", "build_id", "contract_sha256"],
      () => [[1, version, build.id, build.contract.sha256]],
    ),
    reading(
      "gauge",
      "signalbox_degraded",
      "1 for each part that does not work as it should, as in /status.",
      ["part"],
      () => runtime.degraded().map((part) => [1, part]),
    ),
    single("gauge", "signalbox_accepting", "0 while the process drains.", () =>
      runtime.accepting() ? 1 : 0,
    ),
  ];
}

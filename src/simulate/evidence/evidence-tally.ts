import type { RoutingTable } from "../../canon/table.ts";
import { groupKey } from "../compare/comparison-tally.ts";
import {
  type OfSides,
  type Outcome,
  type OutcomePair,
  type SampleRequest,
  type View,
  VIEWS,
} from "../sample-request.ts";
import type { RowRename } from "../renamed-table.ts";
import type { EvidenceReport } from "../report/report.ts";
import { addedUsage, NOTHING_USED, type SeenUsage } from "./seen-usage.ts";
import {
  type EvidenceSample,
  type EvidenceUsage,
  parseRecord,
  readEvidenceSample,
  readEvidenceUsage,
  type UnsupportedDecision,
} from "./evidence-sample.ts";
import { remembered } from "../remembered.ts";
import { rowOf } from "../table-rows.ts";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { isJsonObject } from "../../canon/json.ts";
import { readHeader, readRow } from "../../evidence/export-line.ts";

/** Decisions of one group, and the usage of their answers. */
export type SeenInGroup = SeenUsage & { readonly decisions: number };

type SeenReport = EvidenceReport["declared"];
type ChangedCalls = SeenReport["calls"][number];
type RouteCost = SeenReport["costs"][number];

/** Recorded requests under one view. */
type SeenAt = ReturnType<typeof nothingSeen>;

/** The names in a file are untrusted: without a bound they could fill the memory. */
const MAXIMUM_KNOWN = 20_000;

/** Rows of a list of the report; one more has the sum of all others. */
const MOST_ROWS = 1000;

/** Request ids of one row. */
const MOST_REQUESTS = 3;

/** A decision that waits for the record of its outcome. */
interface OpenDecision {
  readonly pairs: Record<View, OutcomePair>;
  readonly route: string;
  readonly at: number;
}

/** Decisions whose outcomes were not read yet; the oldest are forgotten first. */
const MAXIMUM_OPEN = 100_000;

/**
 * Weighs changes by recorded traffic.
 *
 * @param zones whose local time requests are decided with: those that policies name.
 */
function evidenceTally(
  decide: (sample: SampleRequest) => Record<View, OutcomePair>,
  tables: OfSides<RoutingTable>,
  renames: readonly RowRename[],
  zones: readonly string[],
) {
  /** Former name → name. */
  const endpoints = new Map(
    renames.flatMap(({ kind, from, to }) => (kind === "endpoint" ? [[from, to]] : [])),
  );
  /** The same request is decided once, however often it came. */
  const cache = new Map<string, Record<View, OutcomePair>>();
  const opened = new Map<string, OpenDecision>();
  const unrepresentable = new Map<string, number>();
  const seen: Readonly<Record<View, SeenAt>> = {
    declared: nothingSeen(),
    promoted: nothingSeen(),
  };
  let total = 0;
  let notReproduced = 0;
  let unreadable = 0;
  let first = Infinity;
  let last = -Infinity;

  /** The name that both tables have for an endpoint of a record. */
  const nameOf = (endpoint: string) => {
    const name = endpoints.get(endpoint);
    return name === undefined || Object.hasOwn(tables.base.endpoints, endpoint) ? endpoint : name;
  };
  const miss = (why: string, decisions: number) => {
    unrepresentable.set(why, (unrepresentable.get(why) ?? 0) + decisions);
  };

  const add = (found: EvidenceSample | UnsupportedDecision) => {
    const { decisions, at } = found;
    total += decisions;
    first = Math.min(first, at);
    last = Math.max(last, at);
    if ("unsupportedSetting" in found)
      return miss(UNSUPPORTED[found.unsupportedSetting], decisions);
    const { sample, requestId } = found;
    const { workspaces, routes } = tables.head;
    if (!Object.hasOwn(workspaces, sample.workspace)) miss("head has no such workspace", decisions);
    else if (sample.model !== "" && !Object.hasOwn(routes, sample.model))
      miss("head has no such route", decisions);
    if (cache.size >= MAXIMUM_KNOWN) cache.clear();
    const pairs = remembered(cache, JSON.stringify(sample), () => decide(sample));
    const plan = found.plan.map(nameOf);
    if (!reproduces({ ...found, plan }, pairs.declared.base)) notReproduced += decisions;
    for (const view of VIEWS) addCalls(seen[view], pairs[view], found);
    if (requestId === "") return;
    const [oldest] = opened.size >= MAXIMUM_OPEN ? opened.keys() : [];
    if (oldest !== undefined) opened.delete(oldest);
    opened.set(requestId, { pairs, route: sample.model, at });
  };

  /** Adds the usage of an answer whose decision was added before. */
  const addUsage = (usage: EvidenceUsage) => {
    const open = opened.get(usage.requestId);
    if (open === undefined || !opened.delete(usage.requestId)) return;
    const endpoint = usage.endpoint === null ? null : nameOf(usage.endpoint);
    const before = costOf(usage, endpoint, tables.base);
    for (const view of VIEWS) {
      const pair = open.pairs[view];
      const isChanged = pair.kinds.length > 0;
      const after = costOf(usage, answeringInHead(pair, endpoint), tables.head);
      const used = usageOf(usage, before, after);
      const { groups, costs } = seen[view];
      const differs = before !== after || (isChanged && before === null);
      if (endpoint !== null) addCost(costs, open, used, differs);
      if (!isChanged) continue;
      const key = groupKey(pair);
      const seenInGroup = groups.get(key) ?? NOT_SEEN;
      groups.set(key, { ...addedUsage(seenInGroup, used), decisions: seenInGroup.decisions });
    }
  };

  return {
    seen,
    addLine(line: string) {
      const row = readRow(line);
      const record = row === null ? undefined : parseRecord(row.record);
      if (row?.kind === "outcome") {
        const usage = readEvidenceUsage(record);
        if (usage !== null) addUsage(usage);
      } else if (isJsonObject(record)) {
        const found = readEvidenceSample(record, zones);
        if (found !== null) add(found);
      } else unreadable += 1;
    },
    report: (): EvidenceReport => ({
      decisions: total,
      not_reproduced: notReproduced,
      unreadable,
      from: total === 0 ? null : dateOf(first),
      to: total === 0 ? null : dateOf(last),
      unrepresentable: [...unrepresentable]
        .toSorted(([left], [right]) => (left < right ? -1 : 1))
        .map(([why, decisions]) => ({ why, decisions })),
      declared: seenReport(seen.declared),
      promoted: seenReport(seen.promoted),
    }),
  };
}

function addCalls(
  seen: SeenAt,
  pair: OutcomePair,
  { decisions, sample, at, requestId }: EvidenceSample,
) {
  if (pair.kinds.length === 0) return;
  seen.decisions += decisions;
  const group = groupKey(pair);
  const seenInGroup = seen.groups.get(group) ?? NOT_SEEN;
  seen.groups.set(group, { ...seenInGroup, decisions: seenInGroup.decisions + decisions });
  const { key, names, value } = rowOrRest(seen.calls, sample.workspace, dateOf(at).slice(0, 10));
  const [workspace, day] = names;
  const { calls = 0, requests = [] } = value ?? {};
  const isShown = requestId !== "" && requests.length < MOST_REQUESTS;
  seen.calls.set(key, {
    workspace,
    day,
    calls: calls + decisions,
    requests: isShown ? [...requests, requestId] : requests,
  });
}

const UNSUPPORTED = {
  route: "the request named no route of its workspace",
  need: "a capability that this version does not support",
  feature: "a feature that this version does not support",
  size: "a size that this version does not support",
  preference: "a preference that this version does not support",
} as const;

export const NOT_SEEN: SeenInGroup = { decisions: 0, ...NOTHING_USED };

function usageOf(
  { endpoint, inputTokens, outputTokens }: EvidenceUsage,
  before: number | null,
  after: number | null,
): SeenUsage {
  return {
    counted: Number(endpoint !== null && inputTokens !== null && outputTokens !== null),
    input_tokens: inputTokens ?? 0,
    output_tokens: outputTokens ?? 0,
    cost_before: before,
    cost_after: after,
    unpriced_before: Number(before === null),
    unpriced_after: Number(after === null),
    known_cost_before: before ?? 0,
    known_cost_after: after ?? 0,
  };
}

/**
 * US dollars by list price; `null` where an endpoint has no price or the provider did not count. A
 * call without an answer costs nothing.
 */
function costOf(
  { inputTokens, outputTokens }: EvidenceUsage,
  id: string | null,
  table: RoutingTable,
): number | null {
  if (id === null) return 0;
  const price = rowOf(table.endpoints, id)?.price ?? null;
  if (price === null || inputTokens === null || outputTokens === null) return null;
  return (inputTokens * price.input + outputTokens * price.output) / 1_000_000 + price.request;
}

/** RFC 3339, in UTC. */
function dateOf(at: number) {
  return new Date(at).toISOString();
}

/**
 * The endpoint that would answer in head: the one that answered, if head tries no other one before
 * it besides those that were tried before.
 */
function answeringInHead({ base, head }: OutcomePair, answering: string | null): string | null {
  if (answering === null || head.denial !== null) return null;
  const tier = base.plan.find(({ endpoint }) => endpoint === answering)?.tier ?? 0;
  const triedBefore = new Set(base.plan.flatMap((one) => (one.tier < tier ? [one.endpoint] : [])));
  const remaining = head.plan.filter(({ endpoint }) => !triedBefore.has(endpoint));
  const first = remaining
    .filter((one) => one.tier === remaining[0]?.tier)
    .map(({ endpoint }) => endpoint);
  return first.includes(answering) ? answering : (first[0] ?? null);
}

const REST = "";

/** A row by two names; where there are too many rows, that of their rest. */
function rowOrRest<Row>(rows: ReadonlyMap<string, Row>, name: string, time: string) {
  const rowKey = `${name}\n${time}`;
  const hasRoom = rows.has(rowKey) || rows.size < MOST_ROWS;
  const key = hasRoom ? rowKey : REST;
  const names = hasRoom ? ([name, time] as const) : ([null, null] as const);
  return { key, names, value: rows.get(key) };
}

function addCost(
  costs: SeenAt["costs"],
  { route: name, at }: OpenDecision,
  used: SeenUsage,
  differs: boolean,
) {
  const { key, names, value: row } = rowOrRest(costs, name, dateOf(at).slice(0, 7));
  const [route, month] = names;
  costs.set(key, {
    route,
    month,
    calls: (row?.calls ?? 0) + 1,
    ...addedUsage(row ?? NOTHING_USED, used),
    differs: differs || row?.differs === true,
  });
}

function nothingSeen() {
  return {
    groups: new Map<string, SeenInGroup>(),
    decisions: 0,
    calls: new Map<string, ChangedCalls>(),
    costs: new Map<string, RouteCost & { readonly differs: boolean }>(),
  };
}

/** Rows by name and time, the rest last. */
function seenReport({ groups, decisions, calls, costs }: SeenAt): SeenReport {
  const inOrder = <Row>(rows: ReadonlyMap<string, Row>): readonly Row[] =>
    [...rows]
      .toSorted(
        ([left], [right]) =>
          Number(left === REST) - Number(right === REST) || (left < right ? -1 : 1),
      )
      .map(([, row]) => row);
  return {
    groups: groups.size,
    decisions,
    calls: inOrder(calls),
    costs: inOrder(costs).flatMap(({ differs, ...row }) => (differs ? [row] : [])),
  };
}

function reproduces({ outcome, plan, reason }: EvidenceSample, base: Outcome): boolean {
  if (outcome === "deny") return base.denial !== null && base.denial.reason === reason;
  return (
    base.denial === null && base.plan.map(({ endpoint }) => endpoint).join("\n") === plan.join("\n")
  );
}

/** The file is none that `signalbox evidence export` has written, or cannot be read. */
export class EvidenceFileError extends Error {
  override readonly name = "EvidenceFileError";
}

/**
 * Reads the decisions of an export of any size, line by line.
 *
 * @throws {EvidenceFileError}
 */
export async function readEvidence(
  path: string,
  signal: AbortSignal,
  ...sides: Parameters<typeof evidenceTally>
) {
  const tally = evidenceTally(...sides);
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Infinity });
  let isFirst = true;
  try {
    for await (const line of lines) {
      signal.throwIfAborted();
      if (isFirst && readHeader(line) === null) {
        throw new EvidenceFileError(
          "--evidence: the file has no header of an export; write one with signalbox evidence export",
        );
      }
      if (!isFirst && line !== "") tally.addLine(line);
      isFirst = false;
    }
  } catch (error) {
    if (error instanceof Error && "code" in error && typeof error.code === "string") {
      throw new EvidenceFileError(`--evidence: the file cannot be read (${error.code})`);
    }
    throw error;
  } finally {
    lines.close();
  }
  if (isFirst)
    throw new EvidenceFileError(
      "--evidence: the file is empty; write one with signalbox evidence export",
    );
  return tally;
}

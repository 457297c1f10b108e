import { numbered, remembered } from "../remembered.ts";
import type { Capability } from "../../canon/capability.ts";
import type { Candidate } from "../../canon/decision.ts";
import type { ProviderPreferences } from "../../canon/request.ts";
import type { RouteRow, RoutingTable, WorkspaceRow } from "../../canon/table.ts";
import {
  applyApproval,
  applyCeilings,
  endpointApprovals,
  type Approval,
} from "../../decide/approvals.ts";
import { routeCandidates, tiersOf } from "../../decide/candidates.ts";
import { requestedRoute } from "../../decide/decide.ts";
import { applyPreferences, orderCandidates } from "../../decide/narrow.ts";
import { Trace } from "../../decide/trace.ts";
import { identityOf } from "../decide-sample.ts";
import { namedProviders } from "../renamed-table.ts";
import type { SampleRequest } from "../sample-request.ts";
import { joinedNames } from "./levels.ts";
import type { Projection } from "./readers.ts";

/** One side, looked at for one workspace and route. */
export interface OpenedSide {
  readonly table: RoutingTable;
  /** `null`: every request is refused before anything of its shape matters. */
  readonly opened: { readonly workspace: WorkspaceRow; readonly route: RouteRow } | null;
}

/** One side, looked at for one workspace, route and operation. */
export interface SideView extends OpenedSide {
  readonly projection: Projection;
}

export function openSide(
  table: RoutingTable,
  projection: Projection,
  sample: SampleRequest,
): SideView {
  const route = requestedRoute(table, identityOf(sample), sample.model, sample.operation);
  return { table, projection, opened: "reason" in route ? null : route };
}

/**
 * The progress of a request on a side: everything that its decision still depends on. Two requests
 * in the same state, which the side's policies do not distinguish by other members, get the same
 * decision.
 */
export interface SideState {
  /** `policy/constraint/reason` of a denial by the table; policies are then not evaluated. */
  readonly denied: string | null;
  readonly candidates: readonly Candidate[];
  /** The part of the request that the policies can see so far. */
  readonly visiblePart: string;
}

export const REFUSED_SIDE: SideState = { denied: "refused", candidates: [], visiblePart: "" };

/** The candidates that preferences leave, in their order, before any other check. */
export function preferredSide(
  { table, opened }: OpenedSide,
  authored: ProviderPreferences | null,
): SideState {
  if (opened === null) return REFUSED_SIDE;
  const preferences = namedProviders(table, authored);
  const trace = new Trace();
  const open = applyCeilings(table, opened.workspace, opened.route, trace);
  const preferred = applyPreferences(table, opened.workspace, preferences, open, trace);
  if (trace.denial !== null) {
    const { policy, constraint, reason } = trace.denial;
    return deniedState(`${policy}/${constraint}/${reason}`);
  }
  return { denied: null, candidates: orderCandidates(preferences, preferred), visiblePart: "" };
}

/** Adds the preferences and the length of vectors, as policies see them. */
export function startSide(
  { projection }: SideView,
  preferred: SideState,
  preferences: ProviderPreferences | null,
  dimensions: number | null,
): SideState {
  const visiblePart = [
    preferences?.allow_fallbacks === false ? "one candidate" : "",
    visible(projection, "input.request.allow_fallbacks", preferences?.allow_fallbacks !== false),
    visible(projection, "input.request.data_collection", preferences?.data_collection ?? "deny"),
    visible(projection, "input.request.zdr", preferences?.zdr === true),
    visible(projection, "input.request.dimensions", dimensions),
  ];
  return { ...preferred, visiblePart: visiblePart.join("|") };
}

function approveSide(
  { opened }: SideView,
  state: SideState,
  approvals: readonly Approval[],
): SideState {
  if (opened === null || state.denied !== null) return state;
  let { candidates } = state;
  for (const approval of approvals) {
    const applied = applyApproval(opened.route, approval, candidates);
    if (applied.denied) return deniedState(`approvals/${approval.constraint}/${approval.reason}`);
    candidates = applied.remaining;
  }
  return candidates === state.candidates ? state : { ...state, candidates };
}

/**
 * A capability as the policies of a side see it: not at all, by name, or only by its facts in the
 * table. A capability that no policy looks for is not seen.
 */
export function needToken({ table, projection, opened }: SideView, capability: Capability): string {
  if (opened === null || !projection.sees("input.request.needs")) return "";
  if (projection.distinguishes("input.request.needs", capability)) return `=${capability}`;
  if (!projection.seesAllOf("input.request.needs")) return "";
  const supported = routeCandidates(table, opened.route).map(({ endpoint }) =>
    endpoint.capabilities.includes(capability),
  );
  const approved = projection.sees("data.approved.capabilities")
    ? approvalsOf(table, capability)
    : "";
  return `~${approved}.${bits(supported)}`;
}

const approvalBits = new WeakMap<RoutingTable, Map<Capability, string>>();

/** Which workspaces approve a capability: a policy may read all of them. */
function approvalsOf(table: RoutingTable, capability: Capability): string {
  const byCapability = remembered(approvalBits, table, () => new Map<Capability, string>());
  return remembered(byCapability, capability, () =>
    bits(
      Object.values(table.workspaces).map(({ approve }) =>
        approve.capabilities.includes(capability),
      ),
    ),
  );
}

function bits(values: readonly boolean[]) {
  return values.map((value) => (value ? "1" : "0")).join("");
}

/** States are compared often and made rarely. */
const keys = new WeakMap<SideState, string>();
const candidateKeys = new WeakMap<SideState["candidates"], string>();

export function stateKey(state: SideState): string {
  return remembered(keys, state, () =>
    state.denied === null
      ? `${candidatesKey(state.candidates)}|${state.visiblePart}`
      : `!${state.denied}`,
  );
}

/** The candidates as far as a plan shows them. */
export function candidatesKey(candidates: SideState["candidates"]): string {
  return remembered(candidateKeys, candidates, () => tiersOf(candidates).map(tierKey).join(";"));
}

/** How a tier is shared matters only among several; tiers are numbered anew in the plan. */
function tierKey(tier: readonly Candidate[]): string {
  const [first] = tier;
  if (tier.length === 1) return first?.endpoint.id ?? "";
  return tier
    .map(({ endpoint, balance, weight }) => `${endpoint.id}@${balance}${weight}`)
    .join(",");
}

/** One object for each denial: there are not many, and most requests reach one of them. */
const deniedStates = new Map<string, SideState>();

function deniedState(denied: string) {
  return remembered(deniedStates, denied, (): SideState => ({
    denied,
    candidates: [],
    visiblePart: "",
  }));
}

function visible(projection: Projection, path: string, value: string | number | boolean | null) {
  return projection.sees(path) ? String(value) : "";
}

/**
 * Number of a node of the walk: a denial, or the remaining candidates in any order and the needs as
 * policies see them.
 */
export type NodeId = number;

/** The effect of one step on one side. */
export interface SideStep {
  readonly approvals: readonly Approval[];
  /** The step as policies see it; empty where they do not. */
  readonly token: string;
}

/** Members that are checked after needs and features. */
export type LastShape = Pick<SampleRequest, "operation" | "dimensions" | "signatureFamilies">;

export type SideWalk = ReturnType<typeof sideWalk>;

/**
 * The nodes of one side, and where each step leads from each of them. Preferences only choose the
 * node where a walk begins and the order of its candidates, which no approval depends on. One walk
 * is therefore enough for all preferences that leave the same candidates.
 */
export function sideWalk(view: SideView) {
  const { table, opened } = view;
  const nodes = numbered<SideState>();
  const nextNodes = new Map<SideStep, (NodeId | undefined)[]>();
  const lastNodes = new Map<LastShape, (NodeId | undefined)[]>();
  const states = new Map<number, SideState>();

  const numberOf = (state: SideState): NodeId => {
    const { denied, candidates, visiblePart } = state;
    const key =
      denied === null ? `${candidates.map(nameOf).join("\n")}\n\n${visiblePart}` : `!${denied}`;
    return nodes.numberOf(key, () => state);
  };
  const stepped = ({ approvals, token }: SideStep, state: SideState) => {
    const approved = approveSide(view, state, approvals);
    const isSeen = token !== "" && approved.denied === null;
    return numberOf(
      isSeen ? { ...approved, visiblePart: joinedNames(approved.visiblePart, token) } : approved,
    );
  };
  const isDenied = (node: NodeId) => nodes.at(node).denied !== null;
  const stateFrom = (
    { denied, candidates, visiblePart }: SideState,
    start: SideState,
  ): SideState => {
    if (start.denied !== null) return start;
    if (denied !== null) return deniedState(denied);
    const left = new Set(candidates.map(nameOf));
    const inOrder = start.candidates.filter((candidate) => left.has(nameOf(candidate)));
    const isUnchanged = inOrder.length === start.candidates.length;
    if (isUnchanged && visiblePart === "") return start;
    return {
      denied: null,
      candidates: isUnchanged ? start.candidates : inOrder,
      visiblePart: visiblePart === "" ? start.visiblePart : `${start.visiblePart}#${visiblePart}`,
    };
  };

  return {
    /** The node where requests begin whose preferences led to a state. */
    nodeOf({ denied, candidates }: SideState): NodeId {
      if (denied !== null || opened === null) return numberOf(DENIED_AT_START);
      const left = new Set(candidates.map(nameOf));
      const inOrder = routeCandidates(table, opened.route).filter((candidate) =>
        left.has(nameOf(candidate)),
      );
      return numberOf({ denied: null, candidates: inOrder, visiblePart: "" });
    },
    isDenied,
    next(step: SideStep, node: NodeId): NodeId {
      const found = remembered(nextNodes, step, () => []);
      return (found[node] ??= stepped(step, nodes.at(node)));
    },
    /**
     * The node after the last check.
     *
     * @param shape one object for equal shapes, so that each is checked once.
     */
    last(node: NodeId, shape: LastShape): NodeId {
      if (isDenied(node)) return node;
      const found = remembered(lastNodes, shape, () => []);
      const approvals = () =>
        opened === null ? [] : endpointApprovals(table, opened.workspace, shape);
      return (found[node] ??= numberOf(approveSide(view, nodes.at(node), approvals())));
    },
    /**
     * The state of requests that began in a state and reached a node. @param number of the
     * state; equal for equal ones.
     */
    stateAt: (node: NodeId, start: SideState, number: number) =>
      remembered(states, node * STATES + number, () => stateFrom(nodes.at(node), start)),
  };
}

/** So many states at most fit beside the number of a node. */
const STATES = 2 ** 26;

/**
 * Preferences have refused the request already, or the side has no such route: how does not matter
 * to a walk.
 */
const DENIED_AT_START: SideState = { denied: "", candidates: [], visiblePart: "" };

/** Identifies a candidate for approvals. A route may have an endpoint in two tiers. */
export function nameOf({ endpoint, rank }: Candidate): string {
  return `${endpoint.id} ${rank}`;
}

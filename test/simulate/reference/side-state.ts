import type { Capability } from "../../../src/canon/capability.ts";
import type { Candidate } from "../../../src/canon/decision.ts";
import type { ProviderPreferences } from "../../../src/canon/request.ts";
import type { RouteRow, RoutingTable, WorkspaceRow } from "../../../src/canon/table.ts";
import { applyApproval, applyCeilings, type Approval } from "../../../src/decide/approvals.ts";
import { routeCandidates, tiersOf } from "../../../src/decide/candidates.ts";
import { requestedRoute } from "../../../src/decide/decide.ts";
import { applyPreferences, orderCandidates } from "../../../src/decide/narrow.ts";
import { Trace } from "../../../src/decide/trace.ts";
import { identityOf } from "../../../src/simulate/decide-sample.ts";
import type { SampleRequest } from "../../../src/simulate/sample-request.ts";
import { joinedNames } from "../../../src/simulate/space/levels.ts";
import type { Projection } from "../../../src/simulate/space/readers.ts";

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
 * How far a side has come with a request: what its decision still depends on. Two requests in the
 * same state, which the side's policies do not distinguish by their other members, get the same
 * decision.
 */
export interface SideState {
  /** `policy/constraint/reason` of a denial by the table; policies are then not evaluated. */
  readonly denied: string | null;
  readonly candidates: readonly Candidate[];
  /** What of the request the policies can see so far. */
  readonly seen: string;
}

const REFUSED: SideState = { denied: "refused", candidates: [], seen: "" };

/**
 * What remains under the caller's preferences, in their order, before anything else is looked at.
 */
export function preferredSide(
  { table, opened }: OpenedSide,
  preferences: ProviderPreferences | null,
): SideState {
  if (opened === null) return REFUSED;
  const trace = new Trace();
  const open = applyCeilings(table, opened.workspace, opened.route, trace);
  const wanted = applyPreferences(table, opened.workspace, preferences, open, trace);
  if (trace.denial !== null) {
    const { policy, constraint, reason } = trace.denial;
    return deniedState(`${policy}/${constraint}/${reason}`);
  }
  return { denied: null, candidates: orderCandidates(preferences, wanted), seen: "" };
}

/** With what the policies see of preferences and of the length of vectors. */
export function startSide(
  { projection }: SideView,
  preferred: SideState,
  preferences: ProviderPreferences | null,
  dimensions: number | null,
): SideState {
  if (preferred.denied !== null) return preferred;
  const seen = [
    preferences?.allow_fallbacks === false ? "one candidate" : "",
    visible(projection, "input.request.allow_fallbacks", preferences?.allow_fallbacks !== false),
    visible(projection, "input.request.data_collection", preferences?.data_collection ?? "deny"),
    visible(projection, "input.request.zdr", preferences?.zdr === true),
    visible(projection, "input.request.dimensions", dimensions),
  ];
  return { ...preferred, seen: seen.join("|") };
}

export function approveSide(
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

/** The request has one more need; the policies may see it. */
export function seeNeed(state: SideState, token: string): SideState {
  if (token === "" || state.denied !== null) return state;
  const [head = "", needs = ""] = state.seen.split("#");
  return { ...state, seen: `${head}#${joinedNames(needs, token)}` };
}

/**
 * What the policies of a side see of a capability: nothing, which one, or only its facts in the
 * table.
 */
export function needToken({ table, projection, opened }: SideView, capability: Capability): string {
  if (opened === null || !projection.sees("input.request.needs")) return "";
  if (projection.distinguishes("input.request.needs", capability)) return `=${capability}`;
  const supported = routeCandidates(table, opened.route).map(({ endpoint }) =>
    endpoint.capabilities.includes(capability),
  );
  const approved = projection.sees("data.approved.capabilities")
    ? approvalsOf(table, capability)
    : "";
  return `~${approved}.${bits(supported)}`;
}

const approvalBits = new WeakMap<RoutingTable, Map<Capability, string>>();

/** Which workspaces approve a capability: a policy may look at all of them. */
function approvalsOf(table: RoutingTable, capability: Capability): string {
  const known = approvalBits.get(table) ?? new Map<Capability, string>();
  approvalBits.set(table, known);
  const made =
    known.get(capability) ??
    bits(
      Object.values(table.workspaces).map(({ approve }) =>
        approve.capabilities.includes(capability),
      ),
    );
  known.set(capability, made);
  return made;
}

function bits(values: readonly boolean[]): string {
  return values.map((value) => (value ? "1" : "0")).join("");
}

/** States are compared again and again, and made seldom. */
const keys = new WeakMap<SideState, string>();
const candidateKeys = new WeakMap<SideState["candidates"], string>();

export function stateKey(state: SideState): string {
  const known = keys.get(state);
  if (known !== undefined) return known;
  const made =
    state.denied === null ? `${candidatesKey(state.candidates)}|${state.seen}` : `!${state.denied}`;
  keys.set(state, made);
  return made;
}

function candidatesKey(candidates: SideState["candidates"]): string {
  const known = candidateKeys.get(candidates);
  if (known !== undefined) return known;
  const made = tiersOf(candidates).map(tierKey).join(";");
  candidateKeys.set(candidates, made);
  return made;
}

/** How a tier is shared matters only among several; tiers are numbered anew in the plan. */
function tierKey(tier: readonly Candidate[]): string {
  const [first] = tier;
  if (tier.length === 1) return first?.endpoint.id ?? "";
  return tier
    .map(({ endpoint, balance, weight }) => `${endpoint.id}@${balance}${weight}`)
    .join(",");
}

/** One object for each denial: there are not many, and most requests come to one of them. */
const deniedStates = new Map<string, SideState>();

function deniedState(denied: string): SideState {
  const known = deniedStates.get(denied);
  if (known !== undefined) return known;
  const made: SideState = { denied, candidates: [], seen: "" };
  deniedStates.set(denied, made);
  return made;
}

function visible(
  projection: Projection,
  path: string,
  value: string | number | boolean | null,
): string {
  return projection.sees(path) ? String(value) : "";
}

import {
  DEFAULT_PROMOTION,
  RETENTIONS,
  type Approvals,
  type PromotionRequirements,
  type ProviderRow,
  type RoutingTable,
} from "../../canon/table.ts";
import type { EntryPath } from "../causes/config-tree.ts";
import { rowOf } from "../table-rows.ts";
import type { OfSides } from "../sample-request.ts";
import { coversClaims, type WorkloadRule } from "../../canon/workload-identity.ts";
import { canonicalJson } from "../../canon/json.ts";

/** Risks of a changed setting; values of `--fail-on`. */
export type SettingGate = "higher_ceiling" | "weaker_obligation" | "assertions";

/**
 * Whether a changed setting allows more use than before, or requires less. Values that cannot be
 * compared, such as budgets for different periods, count as more.
 *
 * @param before and after as written; `null` where a side does not have it.
 */
export function gateOf(
  path: EntryPath,
  { before, after }: { readonly before: unknown; readonly after: unknown },
  tables: OfSides<RoutingTable>,
): SettingGate | null {
  const [section, id = "", member] = path;
  if (section === "workspaces" && member === "limits")
    return isRaised(before, after) ? "higher_ceiling" : null;
  if (section === "policies" && id === "promotion") {
    return requiresLess(tables, member ?? "*") ? "weaker_obligation" : null;
  }
  const isWeaker =
    (section === "policies" && id === "managed_by" && managesMore(tables)) ||
    (section === "workspaces" && member === "approve" && approvesMore(tables, id, path[3])) ||
    (section === "workload_identity" && admitsMore(tables)) ||
    (section === "console" && id === "roles" && mayMore(tables)) ||
    (section === "providers" && member !== undefined && keepsMore(tables, id, member));
  return isWeaker ? "weaker_obligation" : null;
}

/** A limit where there was none is stricter. */
function isRaised(before: unknown, after: unknown): boolean {
  if (before === null) return false;
  return typeof before !== "number" || typeof after !== "number" || after > before;
}

function requiresLess({ base, head }: OfSides<RoutingTable>, id: string): boolean {
  const [before, after] = [requirements(base, id), requirements(head, id)];
  return (
    after.approvals < before.approvals ||
    after.soak < before.soak ||
    after.decisions < before.decisions ||
    before.roles.some((role) => !after.roles.includes(role)) ||
    (after.selfApproval && !before.selfApproval) ||
    (["noIndeterminate", "report", "assertions"] as const).some(
      (name) => before[name] && !after[name],
    )
  );
}

function requirements(
  { policies: { promotion = {} } }: RoutingTable,
  id: string,
): PromotionRequirements {
  return rowOf(promotion, id) ?? promotion["*"] ?? DEFAULT_PROMOTION;
}

function managesMore({ base, head }: OfSides<RoutingTable>): boolean {
  const before = managersOf(base);
  return managersOf(head).some((workspace) => !before.includes(workspace));
}

function managersOf({ policies: { managedBy }, workspaces }: RoutingTable): readonly string[] {
  const all = Object.keys(workspaces);
  return managedBy ?? (all.length === 1 ? all : []);
}

/** Whether a group gets a role in a workspace where it did not have it. */
function mayMore({ base, head }: OfSides<RoutingTable>): boolean {
  const before = new Set(rolesOf(base));
  return rolesOf(head).some((role) => !before.has(role));
}

function rolesOf({ console, workspaces }: RoutingTable): readonly string[] {
  const all = Object.keys(workspaces);
  return (console?.roles ?? []).flatMap(({ group, role, workspaces: named }) =>
    (named ?? all).map((workspace) => JSON.stringify([group, role, workspace])),
  );
}

/** Whether a workspace that both sides have may use providers that keep more, or train. */
function approvesMore(
  { base, head }: OfSides<RoutingTable>,
  id: string,
  list: string | undefined,
): boolean {
  const [before, after] = [base, head].map(({ workspaces }) => rowOf(workspaces, id)?.approve);
  if (before === undefined || after === undefined) return false;
  if (list === "data_collection")
    return before.dataCollection === "deny" && after.dataCollection !== "deny";
  const keeps = ({ retention }: Approvals): number => RETENTIONS.indexOf(retention ?? "unlimited");
  return list === "retention" && keeps(after) > keeps(before);
}

/**
 * Whether a provider that both sides have keeps more than before, trains, or is called without
 * encryption.
 */
function keepsMore({ base, head }: OfSides<RoutingTable>, id: string, member: string): boolean {
  const [before, after] = [base, head].map(({ providers }) => rowOf(providers, id));
  if (before === undefined || after === undefined) return false;
  if (member === "retention")
    return RETENTIONS.indexOf(after.retention) > RETENTIONS.indexOf(before.retention);
  if (member === "trains_on_data") return after.trainsOnData && !before.trainsOnData;
  // Whichever of the two keys changed: calls that were encrypted no longer are.
  return (
    (member === "plaintext" || member === "base_url") && isPlaintext(after) && !isPlaintext(before)
  );
}

function isPlaintext({ plaintext, baseUrl }: ProviderRow): boolean {
  return plaintext === true && /^http:/i.test(baseUrl);
}

/**
 * Whether a workload may get a token that it did not get, or one that may more. Where another
 * issuer or other keys sign, it is assumed: who has those keys is unknown here.
 */
export function admitsMore({ base, head }: OfSides<RoutingTable>): boolean {
  const [before, after] = [base.workloadIdentity, head.workloadIdentity];
  return Object.values(after?.rules ?? {}).some((rule) => {
    const old = before?.rules[rule.id];
    if (old === undefined) return true;
    const [was, is] = [before?.issuers[old.issuedBy], after?.issuers[rule.issuedBy]];
    return canonicalJson(was ?? null) !== canonicalJson(is ?? null) || allowsMore(old, rule);
  });
}

function allowsMore(before: WorkloadRule, after: WorkloadRule): boolean {
  const same = ["audience", "workspace", "environment", "workload", "owner"] as const;
  return (
    same.some((name) => before[name] !== after[name]) ||
    // Policies may grant access by label.
    canonicalJson(before.labels) !== canonicalJson(after.labels) ||
    !coversClaims(before.claims, after.claims) ||
    after.lifetime > before.lifetime ||
    !isWithin(before.scopes, after.scopes) ||
    !isWithin(before.operations, after.operations) ||
    !isWithin(before.routes, after.routes)
  );
}

/** @param before `null`: everything. */
function isWithin(before: readonly string[] | null, after: readonly string[] | null): boolean {
  return before === null || after?.every((name) => before.includes(name)) === true;
}

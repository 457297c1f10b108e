import type { RoutingTable } from "../../canon/table.ts";
import type {
  CandidateReport,
  CauseReport,
  ChangeGroup,
  ChangedEntry,
  DestinationReport,
  Rename,
} from "../report/report.ts";
import type { CompiledSides } from "../side-contents.ts";
import { conditionCount, OTHER_SIDE, type SideName } from "../sample-request.ts";
import { rowOf } from "../table-rows.ts";

/** The facts of the tables that a reader needs to judge a cause. */
export function causeFacts(
  entries: readonly ChangedEntry[],
  groups: readonly ChangeGroup[],
  { base, head }: CompiledSides,
): Pick<CauseReport, "gains" | "loses" | "routes" | "unaffected" | "without_routes"> {
  const named = entries.flatMap(({ kind, subject }) => (kind === "route" ? [subject] : []));
  const noticed = plainGroups(groups);
  const routes = [...new Set([...named, ...noticed.flatMap((group) => group.routes)])].toSorted();
  const gains = onlyIn(groups, "head", head.table);
  const rows = routes.flatMap((id) => {
    const row = rowOf(head.table.routes, id) ?? rowOf(base.table.routes, id);
    if (row === undefined) return [];
    const primary = destination(row.primary, head.table) ?? destination(row.primary, base.table);
    const former = rowOf(base.table.routes, id)?.primary ?? row.primary;
    const was = former === row.primary ? null : destination(former, base.table);
    return [{ id, title: row.title, primary, ...(was !== null && { former_primary: was }) }];
  });
  const affected = new Set(noticed.flatMap(({ workspaces }) => workspaces));
  const approving = Object.values(head.table.workspaces).filter(({ approve }) =>
    approve.routes.some((route) => routes.includes(route)),
  );
  const unaffected = approving
    .filter(({ id }) => !affected.has(id))
    .map(({ id, approve }) => ({ workspace: id, why: notApproved(approve, gains) }));
  const known = new Set([...affected, ...approving.map(({ id }) => id)]);
  return {
    gains,
    loses: onlyIn(groups, "base", base.table),
    routes: rows,
    unaffected: routes.length === 0 ? [] : unaffected,
    without_routes: Object.keys(head.table.workspaces).filter((id) => !known.has(id)).length,
  };
}

/**
 * Groups of plain requests that notice something; of all requests where none is plain. Another
 * reason for the same denial is nothing to notice.
 */
function plainGroups(groups: readonly ChangeGroup[]): readonly ChangeGroup[] {
  const noticed = groups.filter(({ kinds }) => kinds.some((kind) => kind !== "reason_changed"));
  const fewest = Math.min(...noticed.map(({ example }) => conditionCount(example)));
  return noticed.filter(({ example }) => conditionCount(example) === fewest);
}

/**
 * Endpoints that plain requests of the groups reach on one side only, or there at another provider
 * or in another region, in the order of the tables;
 * of any request where none is plain. A request for one provider by name may be served anew by
 * endpoints that everybody else reached before.
 */
function onlyIn(
  groups: readonly ChangeGroup[],
  side: SideName,
  table: RoutingTable,
): readonly DestinationReport[] {
  const ids = new Set(
    plainGroups(groups).flatMap((group) => {
      // The side that has the name serves these requests like all others.
      if (group[OTHER_SIDE[side]].denial?.reason === "unknown_preference") return [];
      const there = new Set(group[OTHER_SIDE[side]].plan.map(processorOf));
      return group[side].plan.flatMap((candidate) =>
        there.has(processorOf(candidate)) ? [] : [candidate.endpoint],
      );
    }),
  );
  return Object.keys(table.endpoints).flatMap((id) =>
    ids.has(id) ? (destination(id, table) ?? []) : [],
  );
}

function processorOf({ endpoint, provider, region }: CandidateReport) {
  return [endpoint, provider, region].join("\n");
}

function destination(id: string, table: RoutingTable): DestinationReport | null {
  const row = rowOf(table.endpoints, id);
  const provider = row === undefined ? undefined : rowOf(table.providers, row.provider);
  if (row === undefined || provider === undefined) return null;
  return {
    endpoint: id,
    model: row.model,
    provider: row.provider,
    region: row.region,
    host: URL.parse(provider.baseUrl)?.host ?? "",
    retention: provider.retention,
    trains_on_data: provider.trainsOnData,
    price: row.price && {
      input: row.price.input,
      output: row.price.output,
      request: row.price.request,
    },
    context_window: rowOf(table.models, row.model)?.contextWindow ?? null,
  };
}

function notApproved(
  { regions, providers }: RoutingTable["workspaces"][string]["approve"],
  gains: readonly DestinationReport[],
): string | null {
  if (gains.length === 0) return null;
  const region = gains.find((gain) => !regions.includes(gain.region));
  if (region !== undefined) return `${region.region} is not approved`;
  const provider = gains.find((gain) => !providers.includes(gain.provider));
  return provider === undefined ? null : `${provider.provider} is not approved`;
}

/** Whether both results of a group are the same but for names that were changed. */
export function differsByName({ base, head }: ChangeGroup, renames: readonly Rename[]): boolean {
  if (renames.length === 0 || base.denial !== null || head.denial !== null) return false;
  const nameOf = (kind: Rename["kind"], name: string) =>
    renames.find((rename) => rename.kind === kind && rename.from === name)?.to ?? name;
  const renamed = (candidate: CandidateReport): CandidateReport => ({
    ...candidate,
    endpoint: nameOf("endpoint", candidate.endpoint),
    model: nameOf("model", candidate.model),
    provider: nameOf("provider", candidate.provider),
  });
  const before = { ...base, plan: base.plan.map(renamed) };
  return JSON.stringify(before) === JSON.stringify(head);
}

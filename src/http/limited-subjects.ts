import type { Identity } from "../canon/identity.ts";
import type { RoutingTable } from "../canon/table.ts";
import { effectiveLimits, type LimitedSubject } from "../limits/accounts.ts";

/** Whose limits a request counts against: its workspace's and its key's. */
export function limitedSubjects(
  { workspaces }: RoutingTable,
  { workspace, keyId, lineage, limits }: Identity,
): readonly LimitedSubject[] {
  const ofWorkspace = workspaces[workspace]?.limits;
  const ofKey = effectiveLimits(limits ?? null, ofWorkspace?.perKey ?? null);
  const subjects: LimitedSubject[] = [];
  if (ofWorkspace !== undefined) subjects.push({ kind: "workspace", id: workspace, limits: ofWorkspace });
  if (ofKey !== null) subjects.push({ kind: "key", id: lineage ?? keyId, limits: ofKey });
  return subjects;
}

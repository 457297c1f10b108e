import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { SourceLocation } from "../report/report.ts";
import type { Locations } from "./positions.ts";

/** Enforced rules that differ from the files, because the files' rules have not been promoted. */
interface KeptRules {
  readonly policies: ReadonlySet<string>;
  /** Of the files that they come from. */
  readonly locations: Locations;
}

/** Adds the locations of an explanation's parts in the files, as `location` beside each of them. */
export function withLocations(
  explanation: JsonObject,
  locations: Locations,
  kept: KeptRules | null = null,
): JsonObject {
  const workspace = textOf(explanation.workspace);
  const route = textOf(explanation.route);
  const context = { locations, workspace, route, kept };
  return {
    ...explanation,
    workspace_location: jsonOf(locations.workspace(workspace)),
    route_location: jsonOf(locations.route(route)),
    candidates: objectsOf(explanation.candidates).map((candidate) => ({
      ...candidate,
      location: jsonOf(locations.endpoint(textOf(candidate.endpoint))),
      constraints: objectsOf(candidate.constraints).map((verdict) =>
        located(context, verdict, candidate),
      ),
    })),
    constraints: objectsOf(explanation.constraints).map((verdict) =>
      located(context, verdict, null),
    ),
    obligations: objectsOf(explanation.obligations).map((obligation) => ({
      ...obligation,
      location: ruleLocationOf(context, obligation, textOf(obligation.obligation)),
    })),
  };
}

interface PositionContext {
  readonly locations: Locations;
  readonly workspace: string;
  readonly route: string;
  readonly kept: KeptRules | null;
}

function located(
  context: PositionContext,
  verdict: JsonObject,
  candidate: JsonObject | null,
): JsonObject {
  const [policy, constraint] = [textOf(verdict.policy), textOf(verdict.constraint)];
  if (policy !== "preferences" && policy !== "approvals") {
    return { ...verdict, location: ruleLocationOf(context, verdict, constraint) };
  }
  return { ...verdict, location: jsonOf(tableLocation(context, policy, constraint, candidate)) };
}

/** The location in a policy; with `side` where it is not in the explained files. */
function ruleLocationOf(
  { locations, kept }: PositionContext,
  rule: JsonObject,
  name: string,
): JsonObject | null {
  const policy = textOf(rule.policy);
  if (rule.slot !== "enforced" || kept?.policies.has(policy) !== true)
    return jsonOf(locations.constraint(policy, name));
  const location = jsonOf(kept.locations.constraint(policy, name));
  return location === null ? null : { ...location, side: "base" };
}

/** Lists of `approve` by the constraint that reads them. */
const APPROVAL_LISTS: ReadonlyMap<string, string> = new Map([
  ["route_known", "routes"],
  ["provider_approved", "providers"],
  ["region_approved", "regions"],
  ["capability_approved", "capabilities"],
  ["dimensions_approved", "dimensions"],
  ["context_window_approved", "context_window"],
  ["data_collection_approved", "data_collection"],
  ["retention_approved", "retention"],
]);

/**
 * The location that a constraint of the table depends on. A preference is in the request, so in no
 * file.
 */
function tableLocation(
  { locations, workspace, route }: PositionContext,
  policy: string,
  constraint: string,
  candidate: JsonObject | null,
): SourceLocation | null {
  if (policy === "preferences") return null;
  const [name = ""] = constraint.split(":");
  const list = APPROVAL_LISTS.get(name);
  if (list !== undefined) return locations.approval(workspace, list);
  if (name === "route_named") return locations.workspace(workspace);
  if (name === "operation_supported" || name === "request_translatable")
    return locations.route(route);
  if (candidate === null) return null;
  // Features of a protocol are in the provider's row; capabilities and the signature family are in
  // the model's.
  return name === "feature_expressed"
    ? locations.provider(textOf(candidate.provider))
    : locations.model(textOf(candidate.model));
}

function jsonOf(location: SourceLocation | null): JsonObject | null {
  return location === null
    ? null
    : { file: location.file, line: location.line, column: location.column };
}

function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item): item is JsonObject => isJsonObject(item)) : [];
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

import { remembered } from "../remembered.ts";
import { readTree } from "../../compile/compile-table.ts";
import { type ConfigNode, keyPosition, nodeAt, type Path } from "../../compile/authored/tree.ts";
import { Findings } from "../../compile/findings/findings.ts";
import { type ConfigurationFiles, furtherSources } from "../../compile/load.ts";
import { basename, dirname } from "node:path/posix";
import type { Source } from "../../canon/diagnostic.ts";
import type { SourceLocation } from "../report/report.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";

export type Locations = ReturnType<typeof readLocations>;

/** The files of a simulation are looked into by all parts of its report. */
const cache = new WeakMap<ConfigurationFiles, Locations>();

/** Look-ups into routes.yaml and the policies; reads the files' texts once. */
export function locationsOf(files: ConfigurationFiles): Locations {
  return remembered(cache, files, () => readLocations(files));
}

/** Locations in the files of one side; `null` where unknown. */
function readLocations(files: ConfigurationFiles) {
  const { routes, policies } = files;
  const tree = readTree(routes, furtherSources(files), new Findings(routes.path))?.tree ?? null;
  const endpoints = endpointIndices(tree);
  const at = (path: Path): SourceLocation | null => {
    if (tree === null || nodeAt(tree, path) === null) return null;
    return { file: routes.path, ...keyPosition(tree, path) };
  };
  const workspace = (id: string) => at(["workspaces", id]);
  return {
    route: (id: string) => at(["routes", id]),
    endpoint: (id: string) => {
      const index = endpoints.get(id);
      // The location of its id: a reader looks for it, and an entry of a list has no key.
      return index === undefined ? null : at(["endpoints", index, "id"]);
    },
    workspace,
    provider: (id: string) => at(["providers", id]),
    /** A provider's `base_url`, or the preset that gives it. */
    providerAddress: (id: string) => at(["providers", id, "base_url"]) ?? at(["providers", id]),
    model: (id: string) => at(["models", id]),
    /**
     * A member of a workspace's `approve`, such as `providers`; the workspace's row where it has
     * none.
     */
    approval: (id: string, member: string) =>
      at(["workspaces", id, "approve", member]) ??
      at(["workspaces", id, "approve"]) ??
      workspace(id),
    /** The first `pass` rule of a policy's constraint. */
    constraint: (policy: string, constraint: string) => ruleLocation(policies, policy, constraint),
  };
}

/** Endpoint id → its index in the list. */
function endpointIndices(tree: ConfigNode | null): ReadonlyMap<string, number> {
  const indices = new Map<string, number>();
  const list = tree === null ? null : nodeAt(tree, ["endpoints"]);
  if (list?.kind !== "list") return indices;
  for (const [index, item] of list.items.entries()) {
    const id = nodeAt(item, ["id"]);
    if (id?.kind === "scalar" && typeof id.value === "string" && !indices.has(id.value))
      indices.set(id.value, index);
  }
  return indices;
}

/**
 * Where a policy's `pass` rule for a constraint begins: the first that can pass, or the default
 * where there is no other. Read off the text, line by line; the constraint's declaration in
 * METADATA where no rule is found.
 *
 * @returns `null` where no file of the policy names the constraint.
 */
export function ruleLocation(
  sources: readonly Source[],
  policy: string,
  constraint: string,
): SourceLocation | null {
  const source = sources.find(
    ({ path }) => basename(path) === `${policy}.rego` && basename(dirname(path)) !== "lib",
  );
  if (source === undefined) return null;
  const lines = source.text.replace(/^\uFEFF/, "").split(/\r\n?|\n/);
  const name = constraint.replaceAll(/[^\w]/g, "\\$&");
  const rule = new RegExp(`^pass(?:\\.${name}(?![\\w-])|\\s*\\[\\s*["\`]${name}["\`]\\s*\\])`);
  return (
    locationOf(source, lines, (line) => rule.test(line)) ??
    locationOf(
      source,
      lines,
      (line) => line.startsWith("default ") && rule.test(line.slice("default ".length).trimStart()),
    ) ??
    locationOf(source, lines, (line) => new RegExp(`^#\\s+["']?${name}["']?\\s*:`).test(line))
  );
}

function locationOf(
  source: Source,
  lines: readonly string[],
  holds: (line: string) => boolean,
): SourceLocation | null {
  for (const [index, text] of lines.entries()) {
    const line = text.trimStart();
    if (holds(line))
      return { file: source.path, line: index + 1, column: text.length - line.length + 1 };
  }
  return null;
}

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
  keptRules: KeptRules | null,
): JsonObject {
  const [workspace, route] = [textOf(explanation.workspace), textOf(explanation.route)];

  /** The location in a policy; with `side` where it is not in the explained files. */
  const inPolicy = (rule: JsonObject, name: string): JsonObject | null => {
    const policy = textOf(rule.policy);
    if (rule.slot !== "enforced" || keptRules?.policies.has(policy) !== true)
      return jsonOf(locations.constraint(policy, name));
    const location = jsonOf(keptRules.locations.constraint(policy, name));
    return location && { ...location, side: "base" };
  };

  /** The location that a constraint of the table depends on. */
  const inTable = (constraint: string, candidate: JsonObject | null): SourceLocation | null => {
    const [name = ""] = constraint.split(":");
    const list = APPROVAL_LISTS.get(name);
    if (list !== undefined) return locations.approval(workspace, list);
    if (name === "route_named") return locations.workspace(workspace);
    if (name === "operation_supported" || name === "request_translatable")
      return locations.route(route);
    if (candidate === null) return null;
    // Features of a protocol are in the provider's row; capabilities and the signature family are
    // in the model's.
    return name === "feature_expressed"
      ? locations.provider(textOf(candidate.provider))
      : locations.model(textOf(candidate.model));
  };

  const located = (verdicts: JsonValue | undefined, candidate: JsonObject | null) =>
    objectsOf(verdicts).map((verdict) => {
      const constraint = textOf(verdict.constraint);
      const location =
        // A preference is in the request, so in no file.
        verdict.policy === "preferences"
          ? null
          : verdict.policy === "approvals"
            ? jsonOf(inTable(constraint, candidate))
            : inPolicy(verdict, constraint);
      return { ...verdict, location };
    });

  return {
    ...explanation,
    workspace_location: jsonOf(locations.workspace(workspace)),
    route_location: jsonOf(locations.route(route)),
    candidates: objectsOf(explanation.candidates).map((candidate) => ({
      ...candidate,
      location: jsonOf(locations.endpoint(textOf(candidate.endpoint))),
      constraints: located(candidate.constraints, candidate),
    })),
    constraints: located(explanation.constraints, null),
    obligations: objectsOf(explanation.obligations).map((obligation) => ({
      ...obligation,
      location: inPolicy(obligation, textOf(obligation.obligation)),
    })),
  };
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

function jsonOf(location: SourceLocation | null): JsonObject | null {
  return location && { ...location };
}

function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function textOf(value: JsonValue | undefined) {
  return typeof value === "string" ? value : "";
}

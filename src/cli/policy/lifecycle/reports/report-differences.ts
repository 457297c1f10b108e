import { canonicalJson, type JsonObject, type JsonValue } from "../../../../canon/json.ts";
import { objectOf, objectsOf } from "../../../explain/members.ts";

/**
 * In which respects two simulation reports say different things of one promotion; empty where they agree. Names of trees, commits, positions in files,
 * warnings and evidence are not compared: they depend on where a report was made.
 */
export function reportDifferences(left: JsonObject, right: JsonObject): readonly string[] {
  return RESPECTS.flatMap(([name, of]) => (canonicalJson(of(left)) === canonicalJson(of(right)) ? [] : [name]));
}

const RESPECTS: readonly (readonly [string, (report: JsonObject) => JsonValue])[] = [
  ["the table of its base", (report) => objectOf(report, "base")?.["table_revision"] ?? null],
  ["the table of its head", (report) => objectOf(report, "head")?.["table_revision"] ?? null],
  ["the enforced policies of its base", enforced],
  ["the promoted policies", ({ promoted_policies: policies = null }) => policies],
  ["whether every class was decided", ({ complete = null }) => complete],
  ["the assertions", assertions],
  ["the changes", changes],
];

function enforced(report: JsonObject): JsonValue {
  const policies = objectsOf(objectOf(report, "base"), "policies").filter(({ slot }) => slot === "enforced");
  return policies.map((policy) => pick(policy, ["id", "digest"]));
}

function assertions(report: JsonObject): JsonValue {
  const found = objectOf(report, "assertions");
  if (found === null) return null;
  return [
    objectsOf(found, "results").map((one) =>
      pick(one, ["id", "kind", "status", "standpoint", "classes", "violations"]),
    ),
    objectsOf(found, "coverage").map((one) => pick(one, ["what", "covered", "of", "required", "status"])),
  ];
}

function changes(report: JsonObject): JsonValue {
  const space = pick(objectOf(report, "space"), ["classes", "shapes"]);
  return [space, ...["declared", "promoted"].map((name) => comparison(objectOf(report, name)))];
}

function comparison(found: JsonObject | null): JsonValue {
  const paths = (name: string): JsonValue =>
    objectsOf(found, name).map((path) => pick(path, ["workspace", "operation", "provider", "region", "routes"]));
  return [
    pick(found, ["access", "changed_classes", "changed_shapes", "words"]),
    objectsOf(found, "groups").map((group) => pick(group, ["id", "words", "classes", "shapes", "base", "head"])),
    paths("new_data_paths"),
    paths("lost_data_paths"),
  ];
}

function pick(object: JsonObject | null, names: readonly string[]): JsonValue {
  return Object.fromEntries(names.map((name) => [name, object?.[name] ?? null]));
}

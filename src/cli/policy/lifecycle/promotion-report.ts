import { createHash } from "node:crypto";
import { resolve } from "node:path";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJsonObject,
} from "../../../canon/json.ts";
import { readNamedFile } from "../../../policy/read-regular-file.ts";
import type { SimulationReport } from "../../../simulate/report/report.ts";
import { numberOf, objectOf, objectsOf } from "../../terminal/read-answer.ts";
import { CommandError, UsageError, type CommandIo } from "../../terminal/command-io.ts";
import { jsonText } from "../../terminal/printing.ts";

/** The largest report that is read, bytes. */
const LARGEST = 256 * 1024 * 1024;

/** Reports of older versions take what acts for something else. */
const REPORT_FORMAT: SimulationReport["format"] = "signalbox.simulation.v3";

/** What is approved, and what the report must be about. */
export interface Approved {
  readonly policy: string;
  readonly content: { readonly revision: string; readonly digest: string };
  /** Whether it is the policy's end, for messages. */
  readonly isRemoval: boolean;
}

/**
 * The simulation report that the approver has seen, and how an approval names it: by the SHA-256 of
 * the file's bytes, and facts of the report.
 *
 * @param path of a report of `signalbox simulate --format json`.
 * @throws {UsageError} for what is none, or is about another content: it would vouch for content
 * that was not simulated.
 */
export async function readReportReference(
  path: string,
  approved: Approved,
  io: CommandIo,
): Promise<{ readonly reference: JsonObject; readonly json: JsonObject }> {
  const bytes = await readBytes(resolve(io.cwd, path));
  const report = parseJsonObject(bytes.toString("utf8"));
  if (report === null) throw noReport();
  const head = objectOf(report, "head");
  const reference = referenceOf(report, sha256Of(bytes));
  if (report["format"] !== REPORT_FORMAT || head === null || reference === null) throw noReport();
  refuseOther(report, head, approved);
  return { reference, json: report };
}

/** How an approval names a report; `null` for what is none. @param sha256 of its bytes. */
function referenceOf(report: JsonObject, sha256: string): JsonObject | null {
  const revision = objectOf(report, "head")?.["table_revision"];
  if (typeof revision !== "string") return null;
  return {
    sha256,
    table_revision: revision,
    complete: report["complete"] === true,
    assertions: assertionsOf(objectOf(report, "assertions")),
  };
}

/**
 * The end of a policy stands in a report with the digest that a store gives it, like any other
 * content.
 */
function refuseOther(
  report: JsonObject,
  head: JsonObject,
  { policy, content, isRemoval }: Approved,
): void {
  // Content kept from base is enforced already and needs no approval.
  const contents = objectsOf(head, "policies").filter(
    ({ id, from }) => id === policy && from === "head",
  );
  const found = contents.find(({ digest }) => digest === content.digest);
  if (found === undefined && isRemoval && contents.length === 0) {
    throw new UsageError(
      "--report: does not show the removal of the policy; simulate with a base that enforces it, and a head without it",
    );
  }
  if (found === undefined) {
    const holds =
      contents.length === 0 ? "does not have the policy" : "has other content of the policy";
    throw new UsageError(
      `--report: its head side ${holds}, and ${content.revision} is to be approved; simulate the tree that has it`,
    );
  }
  // A candidate does nothing in the report, unless it was taken for promoted.
  const promoted = report["promoted_policies"];
  const isPromoted = Array.isArray(promoted) && promoted.includes(policy);
  if (found["slot"] === "candidate" && !isPromoted) {
    throw new UsageError(
      "--report: does not show the promotion of the policy; simulate without --promote, or with --promote of it",
    );
  }
}

/** Gates of coverage count where they were set; without one nothing is required. */
function assertionsOf(assertions: JsonObject | null): JsonObject {
  const gates = objectsOf(assertions, "coverage").filter(
    ({ required }) => typeof required === "number",
  );
  const gate = (status: string): number => gates.filter((one) => one["status"] === status).length;
  const amount = (name: string): number => Math.max(0, Math.floor(numberOf(assertions, name) ?? 0));
  return {
    passed: amount("passed") + gate("PASS"),
    failed: amount("failed") + gate("FAIL"),
    waived: amount("waived"),
  };
}

async function readBytes(path: string): Promise<Buffer> {
  const bytes = await readNamedFile(path, LARGEST).catch(() => {
    throw new UsageError(
      "--report: the file cannot be read; name the output of signalbox simulate --format json",
    );
  });
  if (bytes === "too_large")
    throw new UsageError(`--report: is larger than ${LARGEST / 1024 / 1024} MiB`);
  return Buffer.from(bytes);
}

function noReport(): UsageError {
  return new UsageError(
    `--report: is not a report of signalbox simulate --format json in the format of this version (${REPORT_FORMAT})`,
  );
}

/** The report that a server makes of a promotion, and how an approval names it. */
export interface ServerReport {
  /** The bytes whose SHA-256 the server compares. */
  readonly text: string;
  readonly json: JsonObject;
  readonly reference: JsonObject;
}

/** @throws {CommandError} for an answer that is no report of this version. */
export function serverReport(json: JsonObject): ServerReport {
  // The server prints its report like this; the members keep their order.
  const text = jsonText(json);
  const reference = json["format"] === REPORT_FORMAT ? referenceOf(json, sha256Of(text)) : null;
  if (reference === null) throw notReadable();
  return { text, json, reference };
}

/**
 * The report as formats other than JSON need it.
 *
 * @throws {CommandError} for one with control characters, which would act on the terminal.
 */
export function readableReport({ text, json }: ServerReport): SimulationReport {
  if (/\\u00[01][0-9a-f]|\\u007f|[\u007F-\u009F]|\\[bfnrt]/.test(text) || !isReport(json))
    throw notReadable();
  return json;
}

/** The version of the format decides: a server with it has made every member. */
function isReport(value: unknown): value is SimulationReport {
  return isJsonObject(value) && value["format"] === REPORT_FORMAT && isJsonObject(value["space"]);
}

export function notReadable(): CommandError {
  return new CommandError(
    "--server: answered with a simulation report that this version cannot read",
  );
}

function sha256Of(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}

/**
 * In which respects two simulation reports say different things of one promotion; empty where they
 * agree. Names of trees, commits, positions in files, warnings and evidence are not compared: they
 * depend on where a report was made.
 */
export function reportDifferences(left: JsonObject, right: JsonObject): readonly string[] {
  return RESPECTS.flatMap(([name, of]) =>
    canonicalJson(of(left)) === canonicalJson(of(right)) ? [] : [name],
  );
}

const RESPECTS: readonly (readonly [string, (report: JsonObject) => JsonValue])[] = [
  ["the table of its base", (report) => objectOf(report, "base")?.["table_revision"] ?? null],
  ["the table of its head", (report) => objectOf(report, "head")?.["table_revision"] ?? null],
  ["the enforced policies of its base", enforced],
  ["the promoted policies", ({ promoted_policies: policies = null }) => policies],
  ["whether every class was decided", ({ complete = null }) => complete],
  ["the assertions", comparedAssertions],
  ["the changes", comparedChanges],
];

function enforced(report: JsonObject): JsonValue {
  const policies = objectsOf(objectOf(report, "base"), "policies").filter(
    ({ slot }) => slot === "enforced",
  );
  return policies.map((policy) => pick(policy, ["id", "digest"]));
}

function comparedAssertions(report: JsonObject): JsonValue {
  const found = objectOf(report, "assertions");
  if (found === null) return null;
  return [
    objectsOf(found, "results").map((one) =>
      pick(one, ["id", "kind", "status", "standpoint", "classes", "violations"]),
    ),
    objectsOf(found, "coverage").map((one) =>
      pick(one, ["what", "covered", "of", "required", "status"]),
    ),
  ];
}

function comparedChanges(report: JsonObject): JsonValue {
  const space = pick(objectOf(report, "space"), ["classes", "shapes"]);
  return [space, ...["declared", "promoted"].map((name) => comparison(objectOf(report, name)))];
}

function comparison(found: JsonObject | null): JsonValue {
  const paths = (name: string): JsonValue =>
    objectsOf(found, name).map((path) =>
      pick(path, ["workspace", "operation", "provider", "region", "routes"]),
    );
  return [
    pick(found, ["access", "changed_classes", "changed_shapes", "words"]),
    objectsOf(found, "groups").map((group) =>
      pick(group, ["id", "words", "classes", "shapes", "base", "head"]),
    ),
    paths("new_data_paths"),
    paths("lost_data_paths"),
  ];
}

function pick(object: JsonObject | null, names: readonly string[]): JsonValue {
  return Object.fromEntries(names.map((name) => [name, object?.[name] ?? null]));
}

import { createHash } from "node:crypto";
import { resolve } from "node:path";
import {
  canonicalJson,
  isJsonObject,
  parseJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../canon/json.ts";
import {
  answerError,
  callServer,
  numberOf,
  objectOf,
  objectsOf,
  readAnswer,
  serverUrl,
  unreadableAnswer,
  type Answer,
} from "../../terminal/call-server.ts";
import {
  CommandError,
  NotNowError,
  UsageError,
  type CommandIo,
} from "../../terminal/command-io.ts";
import { jsonText } from "../../terminal/printing.ts";
import {
  POLICY,
  POLICY_CONTENT,
  type MISSING_REQUIREMENT,
  type POLICY_SHADOW,
} from "../../../http/contract/policy-answers.ts";
import { readNamedFile } from "../../../policy/read-regular-file.ts";
import { explainCommand } from "../../../simulate/explain/explain-arguments.ts";
import type { SimulationReport } from "../../../simulate/report/report.ts";

/** The largest report that is read, bytes. */
const LARGEST = 256 * 1024 * 1024;

/** Members of older formats have other meanings. */
const REPORT_FORMAT: SimulationReport["format"] = "signalbox.simulation.v4";

/**
 * Reads the simulation report that the approver has seen. Its reference has the SHA-256 of the
 * file's bytes and facts of the report.
 *
 * @param path of a report of `signalbox simulate --format json`.
 * @throws {UsageError} for another file, and for a report about other content.
 */
export async function readReportReference(
  path: string,
  policy: string,
  content: ChosenContent,
  io: CommandIo,
): Promise<{ readonly reference: JsonObject; readonly json: JsonObject }> {
  const bytes = await readBytes(resolve(io.cwd, path));
  const report = parseJsonObject(bytes.toString("utf8"));
  if (report === null) throw noReport();
  const head = objectOf(report, "head");
  const reference = referenceOf(report, sha256Of(bytes));
  if (report.format !== REPORT_FORMAT || head === null || reference === null) throw noReport();
  refuseOther(report, head, policy, content);
  return { reference, json: report };
}

/** The reference of a report in an approval; `null` for other JSON. @param sha256 of its bytes. */
function referenceOf(report: JsonObject, sha256: string): JsonObject | null {
  const revision = objectOf(report, "head")?.table_revision;
  if (typeof revision !== "string") return null;
  return {
    sha256,
    table_revision: revision,
    complete: report.complete === true,
    assertions: assertionsOf(objectOf(report, "assertions")),
  };
}

/**
 * A report has the removal of a policy by its digest in the store, like any other content.
 */
function refuseOther(
  report: JsonObject,
  head: JsonObject,
  policy: string,
  { digest, revision, content: kind }: ChosenContent,
) {
  // Content kept from base is enforced already and needs no approval.
  const contents = objectsOf(head, "policies").filter(
    ({ id, from }) => id === policy && from === "head",
  );
  const found = contents.find((one) => one.digest === digest);
  if (found === undefined && kind === "removal" && contents.length === 0) {
    throw new UsageError(
      "--report: does not show the removal of the policy; simulate with a base that enforces it, and a head without it",
    );
  }
  if (found === undefined) {
    const holds =
      contents.length === 0 ? "does not have the policy" : "has other content of the policy";
    throw new UsageError(
      `--report: its head side ${holds}, and ${revision} is to be approved; simulate the tree that has it`,
    );
  }
  // The report ignores a candidate that was not simulated as promoted.
  const promoted = report.promoted_policies;
  const isPromoted = Array.isArray(promoted) && promoted.includes(policy);
  if (found.slot === "candidate" && !isPromoted) {
    throw new UsageError(
      "--report: does not show the promotion of the policy; simulate without --promote, or with --promote of it",
    );
  }
}

/** Counts assertions, and the gates of coverage that are set. */
function assertionsOf(assertions: JsonObject | null): JsonObject {
  const gates = objectsOf(assertions, "coverage").filter(
    ({ required }) => typeof required === "number",
  );
  const gate = (status: string) => gates.filter((one) => one.status === status).length;
  const amount = (name: string) => Math.max(0, Math.floor(numberOf(assertions, name) ?? 0));
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

function noReport() {
  return new UsageError(
    `--report: is not a report of signalbox simulate --format json in the format of this version (${REPORT_FORMAT})`,
  );
}

/** A server's report on a promotion, with its reference in an approval. */
export type ServerReport = ReturnType<typeof serverReport>;

/** @throws {CommandError} for an answer that is no report of this version. */
function serverReport(json: JsonObject) {
  // The server compares the SHA-256 of its report in this format, with the members in this order.
  const text = jsonText(json);
  const reference = json.format === REPORT_FORMAT ? referenceOf(json, sha256Of(text)) : null;
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

/** A server of this format sends every member. */
function isReport(value: unknown): value is SimulationReport {
  return isJsonObject(value) && value.format === REPORT_FORMAT && isJsonObject(value.space);
}

export function notReadable(): CommandError {
  return new CommandError(
    "--server: answered with a simulation report that this version cannot read",
  );
}

function sha256Of(text: string | Uint8Array) {
  return createHash("sha256").update(text).digest("hex");
}

/**
 * Names the parts in which two simulation reports of one promotion differ. Names of trees, commits,
 * positions in files, warnings and evidence are not compared: they depend on where a report was
 * made.
 */
export function reportDifferences(left: JsonObject, right: JsonObject): readonly string[] {
  return Object.entries(COMPARED).flatMap(([part, paths]) => {
    const [one, other] = [left, right].map((report) => {
      const base = objectsOf(objectOf(report, "base"), "policies");
      const enforced = base.filter(({ slot }) => slot === "enforced");
      return canonicalJson(paths.map((path) => valueAt({ ...report, enforced }, path.split("."))));
    });
    return one === other ? [] : [part];
  });
}

const pathsBelow = (member: string, names: readonly string[]) =>
  names.map((name) => `${member}.${name}`);

const DATA_PATH = ["workspace", "operation", "provider", "region", "routes"];
const CHANGES = [
  "access",
  "changed_classes",
  "changed_shapes",
  "kinds",
  ...pathsBelow("groups", ["id", "kinds", "classes", "shapes", "base", "head"]),
  ...pathsBelow("new_data_paths", DATA_PATH),
  ...pathsBelow("lost_data_paths", DATA_PATH),
];

/** Paths in a report by the part of it that messages name; `enforced` are policies of its base. */
const COMPARED = {
  "the table of its base": ["base.table_revision"],
  "the table of its head": ["head.table_revision"],
  "the enforced policies of its base": pathsBelow("enforced", ["id", "digest"]),
  "the promoted policies": ["promoted_policies"],
  "whether every class was decided": ["complete"],
  "the assertions": [
    ...pathsBelow("assertions.results", ["id", "kind", "status", "view", "classes", "violations"]),
    ...pathsBelow("assertions.coverage", ["what", "covered", "of", "required", "status"]),
  ],
  "the changes": [
    ...pathsBelow("space", ["classes", "shapes"]),
    ...pathsBelow("declared", CHANGES),
    ...pathsBelow("promoted", CHANGES),
  ],
};

/** The value at a path, or the values of all items of lists on it; `null` for an absent one. */
function valueAt(value: JsonValue | undefined, path: readonly string[]): JsonValue {
  const [name, ...rest] = path;
  if (name === undefined) return value ?? null;
  if (Array.isArray(value)) return value.map((one: JsonValue) => valueAt(one, path));
  return isJsonObject(value) ? valueAt(value[name], rest) : null;
}

/** Below the server's address. */
const PATH = "/v1/policies";

/** Address of a server unless a flag or variable gives another one. */
export const DEFAULT_SERVER = "http://127.0.0.1:8080";

/**
 * Longest wait for a simulation, milliseconds: a server takes a minute at most, for itself and for
 * each one before it.
 */
const SIMULATION_WAIT = 150_000;

/** Rows of the log in one answer. */
const PAGE = 500;

/** Changes of a policy, each a path below it. */
export type Change = "approvals" | "promotions" | "rollbacks" | "withdrawals" | "releases";

/** A policy in printable form, and as the server sent it. */
interface PolicyAnswer {
  readonly view: PolicyView;
  readonly json: JsonObject;
}

/**
 * The policies of a running server. Every function throws `CommandError` and `NotNowError` with
 * messages of the command line.
 *
 * @param flag the value of `--server`.
 */
export function policyServer(flag: string | undefined, io: CommandIo) {
  const urlOf = (path: string): URL => {
    const fromEnvironment = io.environment.SIGNALBOX_SERVER ?? "";
    return serverUrl(
      flag ?? (fromEnvironment === "" ? DEFAULT_SERVER : fromEnvironment),
      `${PATH}${path}`,
    );
  };
  const get = async (
    policy: string,
    path: string,
    query: Readonly<Record<string, string>>,
    wait?: number,
  ): Promise<JsonObject> => {
    const url = urlOf(path);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const scopes = "governance:read or operations:manage";
    const answer = await callServer(io, { url, scopes, wait });
    if (answer.status !== 200) throw answerError(answer, PATH, policy);
    if (answer.body === null) throw unreadableAnswer();
    return answer.body;
  };
  /** Something below a policy: `content`, `shadow`. */
  const below = (id: string, name: string, query: Readonly<Record<string, string>>) =>
    get(id, `/${id}/${name}`, query);
  return {
    below,
    /** A command about a policy to paste; it names the server as this command line did. */
    command: (...argv: readonly string[]) =>
      explainCommand(["policy", ...argv, ...(flag === undefined ? [] : ["--server", flag])]),
    list: (query: Readonly<Record<string, string>>) => get("ID", "", query),
    policy: async (id: string): Promise<PolicyAnswer> => {
      const json = await get(id, `/${id}`, {});
      return { view: parseView(json), json };
    },
    /** All rows about a policy, oldest first, as the log has them. */
    transitions: async (id: string) => {
      const rows: JsonObject[] = [];
      for (let after = 0; ;) {
        const query = { after: String(after), limit: String(PAGE) };
        const answer = await below(id, "transitions", query);
        if (answer.object !== "list" || !Array.isArray(answer.data)) throw unreadableAnswer();
        for (const row of objectsOf(answer, "data")) {
          const position = numberOf(row, "position") ?? 0;
          // A server that repeats one page would be read for ever.
          if (position <= after || objectOf(row, "record") === null) throw unreadableAnswer();
          after = position;
          rows.push(row);
        }
        if (answer.has_more !== true || answer.data.length === 0) return rows;
      }
    },
    /** The server's own report on the promotion of a content. */
    simulation: async (id: string, digest: string) =>
      serverReport(await get(id, `/${id}/simulation`, { digest }, SIMULATION_WAIT)),
    /** @param etag where the change must meet the state that was looked at. */
    change: async (
      id: string,
      change: Change,
      body: JsonObject,
      etag: string | null,
    ): Promise<PolicyAnswer> => {
      const inDoubt = `the change may or may not have been made; check: signalbox policy show ${id}`;
      const answer = await callServer(io, {
        url: urlOf(`/${id}/${change}`),
        scopes: "operations:manage",
        body,
        ...(etag !== null && { ifMatch: etag }),
        inDoubt,
        // The server simulates the promotion before it takes an approval with a report.
        ...(change === "approvals" && { wait: SIMULATION_WAIT }),
      });
      if (answer.status !== 200 && answer.status !== 201)
        throw answerError(answer, PATH, id, " Nothing was done.");
      try {
        return { view: parseView(answer.body), json: answer.body ?? {} };
      } catch {
        throw new CommandError(
          `--server: answered with ${answer.status}, but with no policy; ${inDoubt}`,
        );
      }
    },
  };
}

export type PolicyServer = ReturnType<typeof policyServer>;

/** A policy as a server shows it. Its texts are safe for a terminal; `etag` is the server's own. */
export type PolicyView = Answer<typeof POLICY>;

export type SlotView = NonNullable<PolicyView["candidate"]>;

/**
 * A content of a policy, as people name it: a revision such as r4, and its lower-case hexadecimal
 * SHA-256.
 */
export type Content = Pick<SlotView, "revision" | "digest">;

const DIGEST = /^[0-9a-f]{64}$/;

/** `r4 (9f2c1a7b)`; `nothing` for `null`. */
export function contentText(content: Content | null): string {
  return content === null ? "nothing" : `${content.revision} (${content.digest.slice(0, 8)})`;
}

/** A digest for a command to paste. */
export function shortDigest({ digest }: Content): string {
  return digest.slice(0, 12);
}

export type ApprovalView = PolicyView["approvals"][number];

/** One thing that a promotion lacks. */
export type Missing = Answer<typeof MISSING_REQUIREMENT>;

/**
 * Reads a policy. @throws {CommandError} for another answer, and for digests that are not safe in a
 * command.
 */
export function parseView(answer: JsonObject | null): PolicyView {
  const etag = answer?.etag;
  // Sent back in a header unchanged.
  if (
    answer?.object !== "policy" ||
    typeof etag !== "string" ||
    !/^"[\x21\x23-\x7e]{1,200}"$/.test(etag)
  ) {
    throw unreadableAnswer();
  }
  const view = readAnswer(POLICY, answer);
  const { enforced, candidate, rollback_to: before, files, held, withdrawn } = view;
  for (const content of [enforced, candidate, before, files, ...held, ...withdrawn])
    if (content !== null && !DIGEST.test(content.digest)) throw unreadableAnswer();
  return view;
}

/** Verdicts of a candidate in shadow. */
export type ShadowView = Answer<typeof POLICY_SHADOW>;

/** A content that a command is about. */
export type ChosenContent = Content & Pick<SlotView, "content">;

/**
 * The content that `--digest` names, or the candidate.
 *
 * @throws {UsageError} for anything but digits of a digest: a slot may hold another content by now.
 * @throws {NotNowError} where there is no candidate.
 */
export async function requestedContent(
  server: PolicyServer,
  { id, candidate }: PolicyView,
  digest: string | undefined,
): Promise<ChosenContent> {
  if (digest !== undefined) {
    if (/^[0-9a-f]{6,64}$/.test(digest))
      return parseContent(await server.below(id, "content", { digest }));
    throw new UsageError("--digest: must be 6 to 64 digits of a digest (0-9, a-f)");
  }
  if (candidate === null)
    throw new NotNowError("there is no candidate; name another content with --digest");
  return candidate;
}

/** @throws {CommandError} for another answer, and for a digest that is not safe in a command. */
export function parseContent(answer: JsonObject): Answer<typeof POLICY_CONTENT> {
  const content = readAnswer(POLICY_CONTENT, answer);
  if (answer.object !== "policy.content" || !DIGEST.test(content.digest)) throw unreadableAnswer();
  return content;
}

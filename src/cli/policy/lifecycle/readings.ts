import { canonicalJson, type JsonObject } from "../../../canon/json.ts";
import { readTime } from "../../../canon/rfc3339.ts";
import { POLICY_SHADOW } from "../../../http/contract/policy-answers.ts";
import {
  numberOf,
  objectOf,
  objectsOf,
  readAnswer,
  textOf,
  unreadableAnswer,
} from "../../terminal/call-server.ts";
import { readPolicyRecord } from "../../../lifecycle/fold.ts";
import type {
  Actor,
  ContentReference,
  PolicyRecord,
  ReportReference,
  ShadowFigures,
} from "../../../lifecycle/records.ts";
import { CHANGES_END, READS_CODES, READS_HELP, SERVER_HELP, lifecycleCommand } from "./command.ts";
import { listFlags, switches, textFlags } from "../../terminal/command-line.ts";
import {
  contentText,
  notReadable,
  parseView,
  readableReport,
  requestedContent,
  type PolicyServer,
  type PolicyView,
  type SlotView,
} from "./policy-server.ts";
import { actorText, driftText, missingTexts, policyLines, timeText } from "./policy-lines.ts";
import {
  printLines,
  amountText,
  formatTable,
  jsonText,
  numberText,
} from "../../terminal/printing.ts";

export const listPolicies = lifecycleCommand({
  name: "list",
  summary: "Enforced content, content in shadow, and what a promotion still needs.",
  help: `Usage: signalbox policy list [options]

Lists the policies of a running server: enforced content, content in shadow, and what a promotion still needs.

  --ended               Policies that have ended, too.
${READS_HELP}${READS_CODES}`,
  flags: switches("ended"),
  ofAll: true,
  work: async ({ values, json, server, io }) => {
    const answer = await server.list(values.ended === true ? { ended: "true" } : {});
    if (answer.object !== "list" || !Array.isArray(answer.data)) throw unreadableAnswer();
    if (json) io.stdout(jsonText(answer));
    else io.stdout(await formatList(answer, server));
  },
});

async function formatList(answer: JsonObject, server: PolicyServer): Promise<string> {
  const views = await withMissing(objectsOf(answer, "data").map(parseView), server);
  const set = `policy set ${textOf(answer, "policy_set")}, table ${textOf(answer, "table_revision").slice(0, 12)}`;
  if (views.length === 0) return `No policies (${set}).\n`;
  const rows = views.map((view) => [
    view.id,
    view.state,
    ...slotCells(view.enforced),
    ...slotCells(view.candidate),
    view.candidate === null ? "-" : `${view.approvals.length} of ${view.requirements.approvals}`,
    driftText(view) || "-",
    missingCell(view),
  ]);
  const head = [
    "ID",
    "STATE",
    "ENFORCED",
    "SINCE",
    "CANDIDATE",
    "SINCE",
    "APPROVALS",
    "DRIFT",
    "MISSING",
  ];
  return `${set}\n\n${formatTable([head, ...rows])}`;
}

/**
 * Adds the missing requirements. They depend on the caller and are not in the list, so policies
 * with a candidate are read one by one.
 */
async function withMissing(views: readonly PolicyView[], server: PolicyServer) {
  const complete: PolicyView[] = [];
  for (const view of views) {
    complete.push(
      view.candidate === null || view.missing !== null ? view : (await server.policy(view.id)).view,
    );
  }
  return complete;
}

/** Requirements that the candidate does not meet. */
function missingCell({ candidate, missing }: PolicyView): string {
  if (candidate === null) return "-";
  if (candidate.held) return "held";
  if (missing === null) return "?";
  return missing.length === 0 ? "none; ready to promote" : missingTexts(missing);
}

function slotCells(slot: SlotView | null): readonly string[] {
  if (slot === null) return ["-", "-"];
  return [
    slot.content === "removal" ? `${contentText(slot)} end` : contentText(slot),
    timeText(readTime(slot.since)),
  ];
}

/** Example requests that are shown. */
const EXAMPLE_GROUPS = 20;

export const showPolicy = lifecycleCommand({
  name: "show",
  summary: "Everything about one policy, and the next command.",
  help: `Usage: signalbox policy show ID [options]

Shows a policy of a running server: enforced content, content in shadow, approvals, what a promotion still needs, what the content
in shadow would have done to requests, with commands that explain them, and the next command.

${READS_HELP}With --format json: {"policy": …, "shadow": … or null}, as GET /v1/policies/ID and GET /v1/policies/ID/shadow answer.
${READS_CODES}`,
  flags: {},
  work: async ({ id, json, server, io }) => {
    const { view, json: policy } = await server.policy(id);
    // A removal has no rules that could be in shadow.
    const isWatched = view.candidate !== null && view.candidate.content !== "removal";
    const shadow = isWatched
      ? await server.below(view.id, "shadow", { examples: String(EXAMPLE_GROUPS) })
      : null;
    if (json) return io.stdout(jsonText({ policy, shadow }));
    const report = shadow === null ? null : readAnswer(POLICY_SHADOW, shadow);
    printLines(policyLines(view, report, server), io);
  },
});

export const simulatePromotion = lifecycleCommand({
  name: "simulate",
  summary: "What the promotion of the candidate would change, as the server computes it.",
  help: `Usage: signalbox policy simulate ID [options]

Shows the server's own simulation of one promotion: what would change for every class of requests, under the table in force, if
the content were enforced, and the results of the server's assertions. An approval that names this report (signalbox policy
approve --report) satisfies a promotion that requires one.

  --digest D            Six or more digits of the digest of a content. Default: the present candidate.
  --format FORMAT       As for signalbox simulate; repeat it for several, each also as FORMAT=FILE. json=FILE gives the file
                        for --report.
${SERVER_HELP}${CHANGES_END}`,
  flags: { ...textFlags("digest"), ...listFlags("format") },
  work: async ({ id, values, server, io }) => {
    // Loaded here: the other commands need none of the formats.
    const { readOutputs } = await import("../../simulate/options.ts");
    const { checkOutputs, writeOutputs } = await import("../../simulate/outputs.ts");
    const outputs = readOutputs(values.format ?? [], io.cwd);
    await checkOutputs(outputs, io);
    const { view } = await server.policy(id);
    const content = await requestedContent(server, view, values.digest);
    const simulated = await server.simulation(id, content.digest);
    const report = readableReport(simulated);
    try {
      await writeOutputs(report, outputs, io);
    } catch (error) {
      // The formats look at members that a report of another version may lack.
      throw error instanceof TypeError ? notReadable() : error;
    }
  },
});

export const policyHistory = lifecycleCommand({
  name: "history",
  summary: "What happened, when, and by whom.",
  help: `Usage: signalbox policy history ID [options]

Lists what happened to a policy, oldest first: content from files, approvals, promotions, rollbacks, withdrawals and releases, each
with its key and the shadow figures at that time.

${READS_HELP}With --format json: the rows of the log, each with its position and hash; signalbox evidence verify checks the whole chain.
${READS_CODES}`,
  flags: {},
  work: async ({ id, json, server, io }) => {
    const rows = await server.transitions(id);
    if (json) return io.stdout(jsonText(rows));
    io.stdout(
      rows.length === 0
        ? "The history is empty.\n"
        : formatTable([HISTORY_HEAD, ...rows.map(historyRow)]),
    );
  },
});

const HISTORY_HEAD: readonly string[] = ["POSITION", "WHEN", "WHAT", "FROM → TO", "BY", "WITH"];

/** A row of the log as cells; of a record of a newer server, its time and kind. */
function historyRow(row: JsonObject): readonly string[] {
  const json = objectOf(row, "record") ?? {};
  const record = readPolicyRecord(canonicalJson(json));
  const kind = textOf(json, "kind");
  const head = [
    textOf(row, "position"),
    timeOf(json),
    KINDS.get(kind) ?? kind.replaceAll("_", " "),
  ];
  if (record === null) return [...head, "-", "-", "-"];
  const by = "by" in record ? recordedActor(record.by) : "a server's files";
  return [...head, movementText(record), by, detailText(record) || "-"];
}

const KINDS: ReadonlyMap<string, string> = new Map([
  ["observed", "new content"],
  ["returned", "files changed back"],
]);

/** Out-of-range times, which `Date` cannot format, are unknown. */
function timeOf(record: JsonObject): string {
  const at = numberOf(record, "at");
  return timeText(at === null || Number.isNaN(new Date(at).getTime()) ? null : at);
}

function movementText(record: PolicyRecord): string {
  if ("to" in record) return `${referenceText(record.from)} → ${referenceText(record.to)}`;
  if (record.kind !== "observed") return referenceText(record);
  const end = record.content === "removal" ? ", the policy's end" : "";
  return `${referenceText(record)}${end}, ${record.slot}`;
}

function referenceText(reference: Pick<ContentReference, "revision" | "digest"> | null) {
  return reference === null
    ? "nothing"
    : `r${reference.revision} (${reference.digest.slice(0, 8)})`;
}

function recordedActor({ keyId, ...actor }: Actor) {
  return actorText({ key_id: keyId, ...actor });
}

function detailText(record: PolicyRecord): string {
  if (record.kind === "approved") return record.report === null ? "" : reportText(record.report);
  if (record.kind === "rolled_back") return record.reason.replaceAll("_", " ");
  if (record.kind !== "promoted") return "";
  const approvers = record.approvals.map(({ by }) => by.keyId).join(" and ");
  const approvals = approvers === "" ? "no approvals" : `approved by ${approvers}`;
  return `${approvals}${record.shadow === null ? "" : `; ${shadowText(record.shadow)}`}`;
}

function reportText({ sha256, complete, assertions, verification }: ReportReference): string {
  const claim = verification.result === "verified" ? "verified" : "claimed";
  const failed =
    assertions.failed === 0 ? "" : `, ${amountText(assertions.failed, "assertion")} failed`;
  return `${claim} report ${sha256.slice(0, 8)}${complete ? "" : ", incomplete"}${failed}`;
}

function shadowText(shadow: ShadowFigures): string {
  const { judged, wouldDeny, newlyDenied, indeterminate } = shadow;
  const unknown = indeterminate === 0 ? "" : `, ${numberText(indeterminate)} indeterminate`;
  return `of ${amountText(judged, "request")} in shadow ${numberText(wouldDeny)} would have been denied, ${numberText(newlyDenied)} of them let through${unknown}`;
}

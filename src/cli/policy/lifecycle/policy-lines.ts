import { formatTime, readTime } from "../../../canon/rfc3339.ts";
import { REQUIREMENT_SETTINGS } from "../../../http/contract/policy-answers.ts";
import { DRIFT_SENTENCES } from "../../../lifecycle/observe.ts";
import { REQUIREMENTS } from "../../../lifecycle/lifecycle.ts";
import {
  contentText,
  shortDigest,
  type ApprovalView,
  type Content,
  type Missing,
  type PolicyServer,
  type PolicyView,
  type ShadowView,
  type SlotView,
} from "./policy-server.ts";
import {
  amountText,
  line,
  nameLine,
  numberText,
  percentageText,
  section,
  span,
  tableLines,
  wholeLine,
  type Line,
} from "../../terminal/printing.ts";
import { explainCommand } from "../../../simulate/explain/explain-arguments.ts";

/** `2026-03-02T10:00Z`, to the minute; `?` for `null`. */
export function timeText(time: number | null): string {
  return time === null ? "?" : `${formatTime(time).slice(0, 16)}Z`;
}

/** `key 7f3a of acme-prod (security)` */
export function actorText({
  key_id: key,
  workspace,
  roles,
  person,
}: Omit<ApprovalView["by"], "origin">): string {
  return `${person === undefined ? `key ${key}` : personText(person)} of ${workspace}${roles.length === 0 ? "" : ` (${roles.join(", ")})`}`;
}

/** `Ada (248289 at https://idp.example)` */
function personText({ issuer, subject, name }: NonNullable<ApprovalView["by"]["person"]>) {
  return name === undefined ? `${subject} at ${issuer}` : `${name} (${subject} at ${issuer})`;
}

/** The enforced content of a policy, as a part of a sentence. */
export function enforcedText(enforced: SlotView | null): string {
  return enforced?.content === "removal"
    ? "it has ended, nothing is enforced"
    : `${contentText(enforced)} is enforced`;
}

export function missingTexts(missing: readonly Missing[]): string {
  return missing.map(({ message, requirement }) => message || requirement).join("; ");
}

const MARK_STYLES = { "✓": "green", "✗": "red", "?": "yellow" } as const;

function markLine(mark: keyof typeof MARK_STYLES, text: string) {
  return line(2, span(mark, MARK_STYLES[mark]), ` ${text}`);
}

/**
 * The requirements of the policy's promotion: the server's sentence for each that is not met, the
 * others by their keys.
 */
function requirementLines({ requirements, missing }: PolicyView): readonly Line[] {
  const others = REQUIREMENTS.flatMap((name) => {
    const setting = REQUIREMENT_SETTINGS[name];
    const value = requirements[setting];
    // 0, false and an empty list require nothing.
    const isRequired = [value].flat().some(Boolean);
    if (!isRequired || missing?.some(({ requirement }) => requirement === name) === true) return [];
    const text = value === true ? setting : `${setting}: ${String(value)}`;
    return [markLine(missing === null ? "?" : "✓", text)];
  });
  return [...(missing ?? []).map((one) => markLine("✗", missingTexts([one]))), ...others];
}

function driftLines(view: PolicyView, server: PolicyServer): readonly Line[] {
  // Held or withdrawn content is in no slot either; the other drift is more specific.
  const hasSpecificDrift =
    view.drift.includes("files_held") || view.drift.includes("files_withdrawn");
  const drifts = view.drift.filter((drift) => drift !== "files_differ" || !hasSpecificDrift);
  return drifts.flatMap((name) => {
    const text = Object.entries(DRIFT_SENTENCES).find(([drift]) => drift === name)?.[1];
    const command = DRIFT_COMMANDS.get(name)?.(view, server) ?? "";
    return [
      line(2, span(text ?? name, "yellow")),
      ...(command === "" ? [] : [commandLine(4, command)]),
    ];
  });
}

function commandLine(indent: number, command: string) {
  return wholeLine(indent, span(command, "cyan"));
}

/** The same in a table's cell. */
export function driftText({ drift }: PolicyView): string {
  return drift.map((one) => one.replaceAll("_", " ")).join(", ");
}

type CommandOf = (view: PolicyView, server: PolicyServer) => string;

const releaseFiles: CommandOf = ({ id, files }, server) =>
  files === null ? "" : server.command("release", id, "--digest", shortDigest(files));

/** The command that resolves a difference; empty where files have to change. */
const DRIFT_COMMANDS: ReadonlyMap<string, CommandOf> = new Map<string, CommandOf>([
  ["files_differ", (view, server) => (view.candidate === null ? releaseFiles(view, server) : "")],
  ["files_held", releaseFiles],
  ["files_withdrawn", releaseFiles],
  ["candidate_not_in_files", ({ id }, server) => server.command("withdraw", id, "--candidate")],
  ["module_differs", () => "signalbox policy verify"],
  [
    "not_in_files",
    ({ id, candidate }, server) =>
      candidate?.content === "removal" ? server.command("promote", id) : "",
  ],
]);

/** Columns of the names in front. */
const NAMES = 11;

/** Everything about one policy, for a terminal. @param shadow the report on its candidate. */
export function policyLines(
  view: PolicyView,
  shadow: ShadowView | null,
  server: PolicyServer,
): readonly Line[] {
  const { title, owners, candidate, rollback_to: rollbackTo, held, withdrawn, files } = view;
  const list = (contents: readonly Content[]) => contents.map(contentText).join(", ");
  return [
    line(0, span(view.id, "bold"), title === "" ? "" : `  ${title}`),
    ...fact("state", STATES.get(view.state) ?? view.state),
    ...fact("owners", owners.join(", ")),
    ...slotLines("Enforced", view.enforced),
    ...slotLines("Candidate", candidate),
    ...(candidate === null ? [] : promotionLines(view)),
    ...section("Behind it", [
      ...fact("rollback to", view.can_roll_back ? contentText(rollbackTo) : ""),
      ...fact("held", list(held)),
      ...fact("withdrawn", list(withdrawn)),
      ...fact(
        "files",
        files === null ? "" : `${contentText(files)} in the files of the server that answered`,
      ),
    ]),
    ...section("Drift", driftLines(view, server)),
    ...(shadow === null ? [] : shadowLines(shadow, readTime(candidate?.first_seen ?? ""))),
    ...section("Next", nextLines(view, server)),
  ];
}

/** A line with a name; none for an empty text. */
function fact(name: string, text: string): readonly Line[] {
  return text === "" ? [] : [nameLine(2, name, NAMES, text)];
}

const STATES: ReadonlyMap<string, string> = new Map([
  ["enforced", "enforced; nothing is in shadow"],
  ["shadow", "shadow: verdicts are recorded, nothing is enforced"],
  ["changing", "changing: enforced, with new content in shadow"],
  ["ending", "ending: enforced, and its removal waits for a promotion"],
  ["ended", "ended: nothing of it is enforced any more"],
]);

function slotLines(title: string, slot: SlotView | null): readonly Line[] {
  if (slot === null) return [];
  const removal = slot.content === "removal" ? ", the policy's removal" : "";
  return section(`${title}: ${contentText(slot)}${removal}${slot.held ? ", held" : ""}`, [
    ...fact("digest", slot.digest),
    ...fact("since", `${instantText(slot.since)}, first seen ${instantText(slot.first_seen)}`),
    ...slot.constraints.flatMap(({ name, effect, reasons }) =>
      fact("constraint", `${name} (${effect.replaceAll("_", " ")}): ${reasons.join(", ")}`),
    ),
    ...slot.obligations.flatMap(({ name, kind, value }) =>
      fact("obligation", `${name}: ${kind} ${value}`),
    ),
    ...fact("operations", slot.operations.join(", ")),
  ]);
}

/** Approvals, and every requirement with a tick where it is met. */
function promotionLines(view: PolicyView): readonly Line[] {
  const approvals = view.approvals.map((approval) =>
    markLine("✓", `${instantText(approval.at)}  ${actorText(approval.by)}${reportText(approval)}`),
  );
  return [
    ...section("Approvals of the candidate", linesOr(approvals, "none")),
    ...section("Required for its promotion", linesOr(requirementLines(view), "nothing")),
  ];
}

function linesOr(lines: readonly Line[], otherwise: string) {
  return lines.length === 0 ? [line(2, span(otherwise, "dim"))] : lines;
}

function reportText({ report }: ApprovalView): string {
  if (report === null) return ", without a report";
  const { sha256, status, assertions } = report;
  const complete = report.complete ? "complete" : "incomplete";
  const shownStatus = status === "verified" || status === "outdated" ? status : "only claimed";
  return `, report ${sha256.slice(0, 8)} (${shownStatus}, ${complete}; assertions ${assertions.passed} passed, ${assertions.failed} failed, ${assertions.waived} waived)`;
}

const APPROVALS: ReadonlySet<string> = new Set(["approvals", "roles", "report", "assertions"]);

/** The next step, and the command for it where there is one. */
function nextLines(
  { id, candidate, enforced, missing, requirements }: PolicyView,
  server: PolicyServer,
): readonly Line[] {
  const step = (text: string, ...argv: readonly string[]): readonly Line[] => [
    line(2, text),
    ...(argv.length === 0 ? [] : [commandLine(2, server.command(...argv))]),
  ];
  if (candidate === null) return step("nothing to do: there is no candidate");
  const content = [id, "--digest", shortDigest(candidate)];
  if (candidate.held)
    return step("it was rolled back; change its file, or release it:", "release", ...content);
  if (missing !== null && missing.length > 0) {
    const fixes = new Set(missing.map(({ fix }) => fix.replaceAll(/\bID\b/g, id)));
    const text = [...fixes].join(" ");
    if (!missing.some(({ requirement }) => APPROVALS.has(requirement))) return step(text);
    const needsReport = requirements.report || requirements.assertions;
    return step(text, "approve", ...content, ...(needsReport ? ["--report", "report.json"] : []));
  }
  return step(
    missing === null ? "promote it:" : "nothing is missing:",
    "promote",
    id,
    "--expect-candidate",
    candidate.revision,
    "--expect-enforced",
    enforced?.revision ?? "none",
  );
}

/**
 * Verdicts of the candidate in shadow: totals, by constraint, route and workspace, and example
 * requests to try again.
 *
 * @param firstSeen of the candidate, milliseconds since the epoch; one that came back into the slot
 * has its earlier requests counted.
 */
function shadowLines(report: ShadowView, firstSeen: number | null): readonly Line[] {
  const { judged, revision, looked_at: looked } = report;
  const since = instantText(report.since);
  const title = `In shadow: ${revision} since ${since}, evaluated for ${amountText(judged, "request")}`;
  if (judged === 0) return section(title, linesOr([], "no request has been judged yet"));
  const from = timeText(firstSeen);
  const isEarlier = firstSeen !== null && from !== since;
  const part = (amount: number) =>
    `${numberText(amount)} of ${numberText(judged)} (${percentageText(amount, judged)})`;
  const total = (name: string, text: string) => nameLine(2, name, "indeterminate".length, text);
  const range = `${looked.complete ? "all" : "the newest"} ${amountText(looked.decisions, "decision")}`;
  return [
    ...section(title, [
      ...(isEarlier ? [line(2, span(`all since it was first seen, ${from}`, "dim"))] : []),
      total(
        "would deny",
        `${part(report.would_deny)}, ${numberText(report.newly_denied)} of them let through now`,
      ),
      total("would narrow", part(report.would_narrow)),
      total("indeterminate", part(report.indeterminate)),
    ]),
    ...countLines("by constraint", report.by_constraint),
    ...countLines("by route", report.by_route),
    ...countLines("by workspace", report.by_workspace),
    ...section(
      `Requests that it concerns (from ${range} since ${instantText(looked.since)})`,
      report.examples.flatMap(exampleLines),
    ),
  ];
}

function instantText(instant: string | null) {
  return timeText(readTime(instant ?? ""));
}

/**
 * Columns with a name, and the text where it is `null`: figures of workspaces that are not the
 * caller's are summed up.
 */
const NAME_COLUMNS = {
  constraint: "-",
  reason: "-",
  route: "(none, or others')",
  workspace: "(all others)",
};
const COUNT_COLUMNS = {
  judged: "requests",
  would_deny: "would deny",
  newly_denied: "let through now",
  would_narrow: "would narrow",
  indeterminate: "indeterminate",
};

function countLines(
  title: string,
  rows: readonly Readonly<Record<string, string | number | null>>[],
): readonly Line[] {
  const [first] = rows;
  if (first === undefined) return [];
  const names = Object.entries(NAME_COLUMNS).filter(([name]) => name in first);
  const counts = Object.entries(COUNT_COLUMNS).filter(([name]) => name in first);
  const head = [...names.map(([name]) => name), ...counts.map(([, text]) => text)];
  const cells = rows.map((row) => [
    ...names.map(([name, absent]) => String(row[name] ?? absent)),
    ...counts.map(([name]) => numberText(row[name] ?? 0)),
  ]);
  return [line(2, title), ...tableLines(4, head, cells, names.length)];
}

function exampleLines(example: ShadowView["examples"][number]): readonly Line[] {
  const { effect, constraint, reason, newly_denied: through, not_explained: member } = example;
  const verdict = [effect?.replaceAll("_", " "), constraint, reason].filter(Boolean).join(" ");
  const period = [...new Set([example.first, example.last].map(instantText))].join(" to ");
  const times = `${amountText(example.requests, "request")}${through === 0 ? "" : `, ${numberText(through)} of them let through now`}`;
  const command = pastedCommand(example.explain);
  const { workspace, route, operation, environment, needs } = example.class;
  const request = [
    `${workspace ?? ""} requests ${operation ?? ""} ${route === null ? "without a route" : `of ${route}`}`,
    ...(environment === null ? [] : [`in ${environment}`]),
    ...(needs.length === 0 ? [] : [`with ${needs.join(", ")}`]),
  ];
  return [
    line(2, span(verdict, "yellow"), `, ${times}, ${period}`),
    line(4, request.join(" ")),
    line(4, span("request ", "dim"), example.request_id),
    ...(command === null ? [] : [wholeLine(4, span("try     ", "dim"), command)]),
    ...(member === null
      ? []
      : [line(4, span(`no command: the files no longer have its ${member}`, "dim"))]),
  ];
}

/** The longest command that is shown, characters. */
const LONGEST = 4_000;

/**
 * An argument as `shellArgument` writes it: plain, or in single quotes, where no shell expands
 * anything.
 */
const ARGUMENT = /(?:([\w@%+:,./=-]+)|'([^']*)')(?: |$)/y;

/**
 * A command of a server's answer, to be pasted into a shell; `null` for anything but `explain` with
 * arguments. It is written anew from them, so that a server cannot make a user paste more than an
 * explanation.
 */
export function pastedCommand(text: unknown): string | null {
  if (typeof text !== "string" || text.length > LONGEST) return null;
  const argv: string[] = [];
  for (let at = 0; at < text.length; at = ARGUMENT.lastIndex) {
    ARGUMENT.lastIndex = at;
    const [, plain, quoted] = ARGUMENT.exec(text) ?? [];
    const argument = plain ?? quoted;
    if (argument === undefined) return null;
    argv.push(argument);
  }
  return argv[0] === "explain" ? explainCommand(argv) : null;
}

import { formatTime, readTime } from "../../../canon/rfc3339.ts";
import { REQUIREMENT_SETTINGS } from "../../../http/contract/policy-answers.ts";
import { REQUIREMENTS } from "../../../lifecycle/lifecycle.ts";
import { constraintText, obligationText } from "./diff.ts";
import {
  contentText,
  type ApprovalView,
  type Content,
  type Missing,
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
  type Line,
  type Span,
} from "../../terminal/printing.ts";
import { explainCommand } from "../../../simulate/explain/explain-arguments.ts";

/** The same, with what a removal is: a policy's end. */
function slotText(slot: SlotView): string {
  return `${contentText(slot)}${slot.content === "removal" ? ", the policy's removal" : ""}`;
}

/** `2026-03-02T10:00Z`, to the minute; `?` where a server does not say it. */
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
function personText({
  issuer,
  subject,
  name,
}: {
  readonly issuer: string;
  readonly subject: string;
  readonly name?: string;
}): string {
  return name === undefined ? `${subject} at ${issuer}` : `${name} (${subject} at ${issuer})`;
}

/**
 * A command line to paste. @param server as it was given by a flag; `null` where the environment
 * names it.
 */
export function commandText(argv: readonly string[], server: string | null): string {
  return explainCommand([...argv, ...(server === null ? [] : ["--server", server])]);
}

/** The enforced content of a policy, as a part of a sentence. */
export function actingText(enforced: SlotView | null): string {
  if (enforced === null) return "nothing is enforced";
  return enforced.content === "removal"
    ? "it has ended, nothing is enforced"
    : `${contentText(enforced)} is enforced`;
}

export function missingTexts(missing: readonly Missing[]): string {
  return missing.map(({ message, requirement }) => message || requirement).join("; ");
}

/** One requirement and whether it is met: `null` where the answer does not have it. */
interface RequirementLine {
  readonly text: string;
  readonly met: boolean | null;
}

/**
 * The requirements of the policy's promotion: the server's sentence for each that is not met, the
 * others by their keys.
 */
function requirementLines({ requirements, missing }: PolicyView): readonly RequirementLine[] {
  const others = REQUIREMENTS.flatMap((name): readonly RequirementLine[] => {
    const setting = REQUIREMENT_SETTINGS[name];
    const value = requirements[setting];
    const isRequired =
      typeof value === "object" ? value.length > 0 : value !== 0 && value !== false;
    if (!isRequired || missing?.some(({ requirement }) => requirement === name) === true) return [];
    return [
      {
        text: value === true ? setting : `${setting}: ${String(value)}`,
        met: missing === null ? null : true,
      },
    ];
  });
  return [...(missing ?? []).map((one) => ({ text: missingTexts([one]), met: false })), ...others];
}

/**
 * A difference between the files of the server that answered and the slots, and what to do about
 * it.
 */
interface DriftLine {
  readonly text: string;
  readonly fix: string;
  /** The command of the fix, ready to paste; `null` where it is a change of files. */
  readonly command: string | null;
}

/** @param server for the commands; `null` where the environment names it. */
function driftLines(view: PolicyView, server: string | null): readonly DriftLine[] {
  // Held or withdrawn content is in no slot either; the other drift is more specific.
  const isKnown = view.drift.includes("files_held") || view.drift.includes("files_withdrawn");
  const drifts = view.drift.filter((drift) => drift !== "files_differ" || !isKnown);
  return drifts.map(
    (drift) =>
      (Object.hasOwn(DRIFTS, drift) ? DRIFTS[drift] : undefined)?.(view, server) ?? {
        text: drift,
        fix: "",
        command: null,
      },
  );
}

/** The same in a table's cell. */
export function driftText({ drift }: PolicyView): string {
  return drift.map((one) => one.replaceAll("_", " ")).join(", ");
}

type MakeLine = (view: PolicyView, server: string | null) => DriftLine;

const DRIFTS: Readonly<Record<string, MakeLine>> = {
  files_differ: ({ id, files, candidate }, server) => ({
    text: `the server's files have ${filesText(files)}, which is in no slot`,
    fix:
      candidate === null
        ? "on an older replica, update its files; otherwise make the content the candidate:"
        : "on an older replica, update its files",
    command: candidate === null ? releaseCommand(id, files, server) : null,
  }),
  files_held: ({ id, files }, server) => ({
    text: `the server's files have ${filesText(files)}, which was rolled back and is held`,
    fix: "change the files back, or release the content:",
    command: releaseCommand(id, files, server),
  }),
  files_withdrawn: ({ id, files }, server) => ({
    text: `the server's files have ${filesText(files)}, which was withdrawn`,
    fix: "change the files back, or make it the candidate again:",
    command: releaseCommand(id, files, server),
  }),
  candidate_not_in_files: ({ id, candidate }, server) => ({
    text: `the candidate ${candidate === null ? "" : `${contentText(candidate)} `}differs from the content of the server's files`,
    fix: "update the server's files, or withdraw the candidate:",
    command: commandText(["policy", "withdraw", id, "--candidate"], server),
  }),
  module_differs: () => ({
    text: "the stored module is not the one that the sources compile to; servers run the module that they compile from the sources",
    fix: "the store was changed, or a server with a forged compile cache wrote to it; find the damaged contents:",
    command: "signalbox policy verify",
  }),
  not_in_files: ({ id, candidate }, server) => ({
    text: "the server's files do not have the policy",
    fix:
      candidate?.content === "removal"
        ? "put the file back, or promote the removal:"
        : "put the file back, or send the server SIGHUP, which makes the policy's removal the candidate",
    command:
      candidate?.content === "removal" ? commandText(["policy", "promote", id], server) : null,
  }),
};

function filesText(files: Content | null): string {
  return files === null ? "a content" : contentText(files);
}

function releaseCommand(id: string, files: Content | null, server: string | null): string | null {
  return files === null
    ? null
    : commandText(["policy", "release", id, "--digest", files.digest.slice(0, 12)], server);
}

/** Columns of the names in front. */
const NAMES = 11;

/**
 * Everything about one policy, for a terminal. @param shadow the report on its candidate, where
 * there is one.
 */
export function policyLines(
  view: PolicyView,
  shadow: ShadowView | null,
  server: string | null,
): readonly Line[] {
  return [
    line(0, span(view.id, "bold"), span(view.title === "" ? "" : `  ${view.title}`)),
    named("state", span(stateText(view))),
    ...(view.owners.length === 0 ? [] : [named("owners", span(view.owners.join(", ")))]),
    ...slotLines("Enforced", view.enforced),
    ...slotLines("Candidate", view.candidate),
    ...(view.candidate === null ? [] : promotionLines(view)),
    ...section("Behind it", behindLines(view)),
    ...section(
      "Drift",
      driftLines(view, server).flatMap(({ text, fix, command }) => [
        line(2, span(text, "yellow")),
        ...(fix === "" ? [] : [line(4, span(fix))]),
        ...(command === null ? [] : [commandOf(4, command)]),
      ]),
    ),
    ...(shadow === null ? [] : shadowLines(shadow, readTime(view.candidate?.first_seen ?? ""))),
    ...nextLines(view, server),
  ];
}

function named(name: string, ...spans: readonly Span[]): Line {
  return nameLine(2, name, NAMES, ...spans);
}

function commandOf(indent: number, command: string): Line {
  return { ...line(indent, span(command, "cyan")), whole: true };
}

const STATES: ReadonlyMap<string, string> = new Map([
  ["enforced", "enforced; nothing is in shadow"],
  ["shadow", "shadow: verdicts are recorded, nothing is enforced"],
  ["changing", "changing: enforced, with new content in shadow"],
  ["ending", "ending: enforced, and its removal waits for a promotion"],
  ["ended", "ended: nothing of it is enforced any more"],
]);

function stateText({ state }: PolicyView): string {
  return STATES.get(state) ?? state;
}

function slotLines(title: string, slot: SlotView | null): readonly Line[] {
  if (slot === null) return [];
  return section(`${title}: ${slotText(slot)}${slot.held ? ", held" : ""}`, [
    named("digest", span(slot.digest)),
    named("since", span(`${instantText(slot.since)}, first seen ${instantText(slot.first_seen)}`)),
    ...slot.constraints.map((constraint) => named("constraint", span(constraintText(constraint)))),
    ...slot.obligations.map((obligation) => named("obligation", span(obligationText(obligation)))),
    ...(slot.operations.length === 0
      ? []
      : [named("operations", span(slot.operations.join(", ")))]),
  ]);
}

const MARKS = {
  true: span("✓", "green"),
  false: span("✗", "red"),
  null: span("?", "yellow"),
} as const;

/** Approvals, and every requirement with a tick where it is met. */
function promotionLines(view: PolicyView): readonly Line[] {
  const approvals = view.approvals.map((approval) =>
    line(
      2,
      MARKS.true,
      span(` ${instantText(approval.at)}  ${actorText(approval.by)}${reportText(approval)}`),
    ),
  );
  const none = [line(2, span("none", "dim"))];
  return [
    ...section("Approvals of the candidate", approvals.length === 0 ? none : approvals),
    ...section("Required for its promotion", [
      ...requirementLines(view).map(({ text, met }) => line(2, MARKS[`${met}`], span(` ${text}`))),
      ...(requirementLines(view).length === 0 ? [line(2, span("nothing", "dim"))] : []),
    ]),
  ];
}

function reportText({ report }: ApprovalView): string {
  if (report === null) return ", without a report";
  const { sha256, status, assertions } = report;
  const complete = report.complete ? "complete" : "incomplete";
  const shownStatus = status === "verified" || status === "outdated" ? status : "only claimed";
  return `, report ${sha256.slice(0, 8)} (${shownStatus}, ${complete}; assertions ${assertions.passed} passed, ${assertions.failed} failed, ${assertions.waived} waived)`;
}

function behindLines({
  can_roll_back: canRollBack,
  rollback_to: rollbackTo,
  held,
  withdrawn,
  files,
}: PolicyView): readonly Line[] {
  const list = (contents: readonly Content[]): string => contents.map(contentText).join(", ");
  return [
    ...(canRollBack
      ? [named("rollback to", span(rollbackTo === null ? "nothing" : contentText(rollbackTo)))]
      : []),
    ...(held.length === 0 ? [] : [named("held", span(list(held)))]),
    ...(withdrawn.length === 0 ? [] : [named("withdrawn", span(list(withdrawn)))]),
    ...(files === null
      ? []
      : [named("files", span(`${contentText(files)} in the files of the server that answered`))]),
  ];
}

function nextLines(view: PolicyView, server: string | null): readonly Line[] {
  const { text, command } = nextStep(view, server);
  return section("Next", [
    line(2, span(text)),
    ...(command === null ? [] : [commandOf(2, command)]),
  ]);
}

/** The next step, and the command for it where there is one. */
interface NextStep {
  readonly text: string;
  readonly command: string | null;
}

const APPROVALS: ReadonlySet<string> = new Set(["approvals", "roles", "report", "assertions"]);

/** @param server for the commands; `null` where the environment names it. */
function nextStep(view: PolicyView, server: string | null): NextStep {
  const { id, candidate, enforced, missing, requirements } = view;
  const command = (...argv: readonly string[]): string => commandText(["policy", ...argv], server);
  if (candidate === null) return { text: "nothing to do: there is no candidate", command: null };
  if (candidate.held) {
    const digest = candidate.digest.slice(0, 12);
    return {
      text: "it was rolled back; change its file, or release it:",
      command: command("release", id, "--digest", digest),
    };
  }
  if (missing !== null && missing.length > 0) {
    const needsApproval = missing.some(({ requirement }) => APPROVALS.has(requirement));
    const report =
      requirements.report || requirements.assertions ? ["--report", "report.json"] : [];
    return {
      text: [...new Set(missing.map(({ fix }) => fix.replaceAll(/\bID\b/g, id)))].join(" "),
      command: needsApproval
        ? command("approve", id, "--digest", candidate.digest.slice(0, 12), ...report)
        : null,
    };
  }
  return {
    text: missing === null ? "promote it:" : "nothing is missing:",
    command: command(
      "promote",
      id,
      "--expect-candidate",
      candidate.revision,
      "--expect-enforced",
      enforced === null ? "none" : enforced.revision,
    ),
  };
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
  if (judged === 0) return section(title, [line(2, span("no request has been judged yet", "dim"))]);
  const from = timeText(firstSeen);
  const isEarlier = firstSeen !== null && from !== since;
  const part = (amount: number): string =>
    `${numberText(amount)} of ${numberText(judged)} (${percentageText(amount, judged)})`;
  const total = (name: string, text: string): Line =>
    nameLine(2, name, "indeterminate".length, span(text));
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

function instantText(instant: string | null): string {
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
  return [line(2, span(title)), ...tableLines(4, head, cells, names.length)];
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
    line(2, span(verdict, "yellow"), span(`, ${times}, ${period}`)),
    line(4, span(request.join(" "))),
    line(4, span("request ", "dim"), span(example.request_id)),
    ...(command === null
      ? []
      : [{ ...line(4, span("try     ", "dim"), span(command)), whole: true }]),
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

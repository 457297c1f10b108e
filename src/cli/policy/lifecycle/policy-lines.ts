import { readTime } from "../../../canon/rfc3339.ts";
import {
  line,
  nameLine,
  span,
  type Line,
  type Span,
  section,
  tableLines,
} from "../../terminal/layout.ts";
import type { ApprovalView, Content, PolicyView, ShadowView, SlotView } from "./policy-server.ts";
import {
  actorText,
  commandText,
  contentText,
  slotText,
  timeText,
  driftLines,
  requirementLines,
} from "./wording.ts";
import { constraintText, obligationText } from "./diff.ts";
import { explainCommand } from "../../../simulate/explain/explain-arguments.ts";
import { amountText, numberText, percentageText } from "../../terminal/amounts.ts";

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

/** What there is to do next, and the command for it where one does it. */
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
      report.witnesses.flatMap(exampleLines),
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

function exampleLines(example: ShadowView["witnesses"][number]): readonly Line[] {
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

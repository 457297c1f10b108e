import type { JsonObject } from "../../../canon/json.ts";
import { readTime } from "../../../canon/rfc3339.ts";
import { line, nameLine, span, type Line, type Span, section } from "../../terminal/layout.ts";
import type { ApprovalView, Content, PolicyView, SlotView } from "./view.ts";
import { actorText, commandText, contentText, slotText, timeText } from "./contents.ts";
import { constraintText, obligationText } from "./contract-changes.ts";
import { driftLines } from "./drift.ts";
import { requirementLines } from "./missing.ts";
import { shadowLines } from "./shadow-lines.ts";

/** Columns of the names in front. */
const NAMES = 11;

/** Everything about one policy, for a terminal. @param shadow the report on its candidate, where there is one. */
export function policyLines(view: PolicyView, shadow: JsonObject | null, server: string | null): readonly Line[] {
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
    named("since", span(`${timeText(readTime(slot.since))}, first seen ${timeText(readTime(slot.first_seen))}`)),
    ...slot.constraints.map((constraint) => named("constraint", span(constraintText(constraint)))),
    ...slot.obligations.map((obligation) => named("obligation", span(obligationText(obligation)))),
    ...(slot.operations.length === 0 ? [] : [named("operations", span(slot.operations.join(", ")))]),
  ]);
}

const MARKS = { true: span("✓", "green"), false: span("✗", "red"), null: span("?", "yellow") } as const;

/** Approvals, and every requirement with a tick where it is met. */
function promotionLines(view: PolicyView): readonly Line[] {
  const approvals = view.approvals.map((approval) =>
    line(2, MARKS.true, span(` ${timeText(readTime(approval.at))}  ${actorText(approval.by)}${reportText(approval)}`)),
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
    ...(canRollBack ? [named("rollback to", span(rollbackTo === null ? "nothing" : contentText(rollbackTo)))] : []),
    ...(held.length === 0 ? [] : [named("held", span(list(held)))]),
    ...(withdrawn.length === 0 ? [] : [named("withdrawn", span(list(withdrawn)))]),
    ...(files === null ? [] : [named("files", span(`${contentText(files)} in the files of the server that answered`))]),
  ];
}

function nextLines(view: PolicyView, server: string | null): readonly Line[] {
  const { text, command } = nextStep(view, server);
  return section("Next", [line(2, span(text)), ...(command === null ? [] : [commandOf(2, command)])]);
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
    const report = requirements.report || requirements.assertions ? ["--report", "report.json"] : [];
    return {
      text: [...new Set(missing.map(({ fix }) => fix.replaceAll(/\bID\b/g, id)))].join(" "),
      command: needsApproval ? command("approve", id, "--digest", candidate.digest.slice(0, 12), ...report) : null,
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

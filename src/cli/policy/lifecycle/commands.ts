import type { JsonObject } from "../../../canon/json.ts";
import { ROLLBACK_REASONS } from "../../../lifecycle/records.ts";
import { printLines, jsonText, line, span, wholeLine, type Line } from "../../terminal/printing.ts";
import {
  readValue,
  switches,
  textFlags,
  type FlagValues,
  type Options,
} from "../../terminal/command-line.ts";
import { NotNowError, UsageError, type CommandIo } from "../../terminal/command-io.ts";
import { CHANGES_HELP, lifecycleCommand } from "./command.ts";
import { enforcedText, missingTexts } from "./policy-lines.ts";
import {
  contentText,
  readReportReference,
  reportDifferences,
  requestedContent,
  shortDigest,
  type Change,
  type ChosenContent,
  type Content,
  type PolicyServer,
  type PolicyView,
  type ServerReport,
  type SlotView,
} from "./policy-server.ts";
import { diffPolicy } from "./diff.ts";
import { listPolicies, policyHistory, showPolicy, simulatePromotion } from "./readings.ts";

/** Expected slots: a change of another state is refused. */
const EXPECT_FLAGS = textFlags("expect-candidate", "expect-enforced");
const EXPECT_HELP = `  --expect-candidate R  Only if the candidate is this revision, such as r4; none: if there is no candidate.
  --expect-enforced R   Only if this revision is enforced; none: if nothing is enforced yet.
`;

const SLOTS = ["candidate", "enforced"] as const;
type Slot = (typeof SLOTS)[number];

/** A change of a policy. Its state is read first, so that the change applies to the shown state. */
interface ChangeRow<Given extends Options> {
  readonly name: string;
  readonly summary: string;
  /** The endpoint below the policy. */
  readonly path: Change;
  readonly help: string;
  readonly flags: Given;
  /**
   * Reads the flags before the server is called; the function that it gives makes the plan from the
   * policy's state.
   */
  readonly plan: (
    values: FlagValues<Given>,
  ) => (view: PolicyView, server: PolicyServer) => Promise<Plan> | Plan;
}

interface Plan {
  /** The change, printed before it is requested. */
  readonly doing: string;
  readonly body: JsonObject;
  /** Whether the change fails where another change of the policy was made since it was read. */
  readonly guarded: boolean;
  readonly outcome: string;
  /** A command line to paste that undoes the change; `null` where none does. */
  readonly undo: (after: PolicyView) => string | null;
}

function change<const Given extends Options>({ path, flags, plan, ...row }: ChangeRow<Given>) {
  return lifecycleCommand({
    ...row,
    flags: { ...flags, ...EXPECT_FLAGS },
    work: async ({ id, values, json, server, io }) => {
      const expected = readExpected(values);
      const prepare = plan(values);
      const { view } = await server.policy(id);
      refuseUnexpected(view, expected);
      const { doing, body, guarded, outcome, undo } = await prepare(view, server);
      if (!json) printLines([line(0, `${id}: ${doing}`)], io);
      const changed = await server.change(id, path, body, guarded ? view.etag : null);
      if (json) io.stdout(jsonText(changed.json));
      else printLines(outcomeLines(outcome, changed.view, undo(changed.view)), io);
    },
  });
}

/** The slots after a change, and the command that undoes it. */
function outcomeLines(
  outcome: string,
  { enforced, candidate }: PolicyView,
  undo: string | null,
): readonly Line[] {
  const watched =
    candidate === null
      ? ""
      : `; ${contentText(candidate)} is in shadow${candidate.held ? " and held, so that it cannot be promoted" : ""}`;
  return [
    line(0, span(outcome, "green")),
    line(0, `now: ${enforcedText(enforced)}${watched}`),
    ...(undo === null ? [] : [pasteLine("undo: ", undo)]),
  ];
}

function pasteLine(label: string, command: string) {
  return wholeLine(0, label, span(command, "cyan"));
}

const promotePolicy = change({
  name: "promote",
  summary: "Promotes the candidate: it is enforced from now on.",
  path: "promotions",
  help: `Usage: signalbox policy promote ID [options]

Enforces the candidate of a policy instead of the content that is enforced now, on all servers of the store at once. If the
policy's file is gone, the candidate is its removal. If the policy changed after it was read, nothing is done.

${EXPECT_HELP}${CHANGES_HELP}`,
  flags: {},
  plan:
    () =>
    ({ id, candidate, enforced, missing }, server) => {
      if (candidate === null) {
        throw new NotNowError(
          "there is no candidate; a server creates one when it reads changed files",
        );
      }
      const removal = candidate.content === "removal" ? "its removal, " : "";
      const lacking =
        missing === null || missing.length === 0 ? "" : `; missing: ${missingTexts(missing)}`;
      return {
        doing: `promoting ${contentText(enforced)} → ${removal}${contentText(candidate)}${lacking}`,
        body: { expected: revisionsOf(candidate, enforced) },
        guarded: true,
        outcome: `promoted ${contentText(candidate)}`,
        undo: () => server.command("rollback", id),
      };
    },
});

function revisionsOf(candidate: SlotView | null, enforced: SlotView | null): JsonObject {
  return {
    candidate_revision: candidate?.revision ?? null,
    enforced_revision: enforced?.revision ?? null,
  };
}

const rollBackPolicy = change({
  name: "rollback",
  summary: "Rolls back to the content that was enforced before.",
  path: "rollbacks",
  help: `Usage: signalbox policy rollback ID [options]

Enforces earlier content again, on all servers of the store at once. Nothing is compiled and no approval is needed. The content
that is rolled back is held: it must be released before it can be promoted again.

  --to R                A revision that was enforced before, such as r3; none: nothing is enforced, as before the first
                        promotion of a policy that began in shadow. Default: the content that was enforced last.
  --reason R            ${ROLLBACK_REASONS.join(", ")}.
                        Default: other. The history records it.
${EXPECT_HELP}${CHANGES_HELP}`,
  flags: textFlags("to", "reason"),
  plan: (values) => {
    const to = readRevision("--to", values.to);
    const reason =
      values.reason === undefined ? null : readValue("--reason", values.reason, ROLLBACK_REASONS);
    return (view, server) => {
      const { id, enforced, candidate, rollback_to: rollbackTo } = view;
      if (enforced === null)
        throw new NotNowError(
          `nothing is enforced; for earlier content, see: signalbox policy history ${id}`,
        );
      const target = to === "none" ? "nothing" : (to ?? contentText(rollbackTo));
      return {
        doing: `rolling back ${contentText(enforced)} → ${target}`,
        body: {
          expected: revisionsOf(candidate, enforced),
          ...(to !== undefined && { to_revision: to === "none" ? null : to }),
          ...(reason !== null && { reason }),
        },
        guarded: true,
        outcome: `rolled back ${contentText(enforced)}`,
        undo: (after) => {
          // Rolled-back content can be promoted again only while it is in the candidate's slot.
          if (after.candidate?.digest !== enforced.digest) return null;
          const release = server.command("release", id, "--digest", shortDigest(enforced));
          return `${release} && ${server.command("promote", id)}`;
        },
      };
    };
  },
});

const withdrawPolicy = change({
  name: "withdraw",
  summary: "Withdraws an approval or, with --candidate, the candidate.",
  path: "withdrawals",
  help: `Usage: signalbox policy withdraw ID [options]

Withdraws the approval that the key in SIGNALBOX_KEY, or a key that it comes from, has given. With --candidate, removes the
candidate from its slot: it is no longer in shadow, and a restart with the same files does not bring it back.

  --candidate           The candidate instead of an approval.
  --digest D            The approved content, by six or more digits of its digest. Default: the candidate.
${EXPECT_HELP}${CHANGES_HELP}`,
  flags: { ...switches("candidate"), ...textFlags("digest") },
  plan: (values) => {
    const isCandidate = values.candidate === true;
    if (isCandidate && values.digest !== undefined) {
      throw new UsageError(
        "--candidate, --digest: give one of them; the candidate is the content of the slot",
      );
    }
    return async (view, server) => {
      if (isCandidate && view.candidate === null)
        throw new NotNowError("there is no candidate to withdraw");
      const content = await requestedContent(server, view, values.digest);
      const inverse = isCandidate ? "release" : "approve";
      return {
        doing: `withdrawing ${isCandidate ? "the candidate" : "an approval of"} ${contentText(content)}`,
        body: isCandidate
          ? { what: "candidate", expected: { candidate_revision: content.revision } }
          : { what: "approval", digest: content.digest },
        guarded: isCandidate,
        outcome: `withdrew ${isCandidate ? "the candidate" : "the approval of"} ${contentText(content)}`,
        undo: () => server.command(inverse, view.id, "--digest", shortDigest(content)),
      };
    };
  },
});

const releasePolicy = change({
  name: "release",
  summary: "Releases content that was rolled back, so that it can be promoted again.",
  path: "releases",
  help: `Usage: signalbox policy release ID [options]

Releases content that was rolled back or withdrawn, so that it can be promoted again. If there is no candidate, it becomes the
candidate. A release enforces nothing: the content still has to be promoted.

  --digest D            Six or more digits of its digest. Default: the only content that is held or, if none is, withdrawn.
${EXPECT_HELP}${CHANGES_HELP}`,
  flags: textFlags("digest"),
  plan: (values) => async (view, server) => {
    const content =
      values.digest === undefined
        ? onlyReleasable(view)
        : await requestedContent(server, view, values.digest);
    return {
      doing: `releasing ${contentText(content)}`,
      body: { digest: content.digest },
      guarded: true,
      outcome: `released ${contentText(content)}`,
      undo: (after) => {
        // No command holds content again; a candidate that came with the release can be withdrawn.
        const isNewCandidate =
          after.candidate?.digest === content.digest && view.candidate?.digest !== content.digest;
        return isNewCandidate ? server.command("withdraw", view.id, "--candidate") : null;
      },
    };
  },
});

function onlyReleasable({ held, withdrawn }: PolicyView): Content {
  const contents = held.length > 0 ? held : withdrawn;
  const [only, ...others] = contents;
  if (only === undefined)
    throw new NotNowError(
      "nothing is held and nothing is withdrawn, so there is nothing to release",
    );
  if (others.length > 0) {
    const names = contents.map(contentText).join(", ");
    throw new UsageError(
      `--digest: several contents can be released; give the digest of one of ${names}`,
    );
  }
  return only;
}

/**
 * `r4`, or `none` for an empty slot; `undefined` where the flag is not given. @throws {UsageError}
 */
function readRevision(flag: string, text: string | undefined): string | undefined {
  if (text === undefined || text === "none" || /^r[1-9]\d{0,8}$/.test(text)) return text;
  throw new UsageError(`${flag}: must be a revision such as r4, or none`);
}

/** @throws {UsageError} */
function readExpected(values: FlagValues<typeof EXPECT_FLAGS>) {
  return {
    candidate: readRevision("--expect-candidate", values["expect-candidate"]),
    enforced: readRevision("--expect-enforced", values["expect-enforced"]),
  };
}

/**
 * Compares a policy with `--expect-candidate` and `--expect-enforced`: a pipeline that expects r4
 * must not promote r5.
 *
 * @throws {NotNowError}
 */
function refuseUnexpected(view: PolicyView, expected: Readonly<Record<Slot, string | undefined>>) {
  for (const slot of SLOTS) {
    const present = view[slot]?.revision ?? "none";
    if (present === (expected[slot] ?? present)) continue;
    throw new NotNowError(
      `--expect-${slot}: it is ${present} now; nothing was done; read it again: signalbox policy show ${view.id}`,
    );
  }
}

const approvePolicy = lifecycleCommand({
  name: "approve",
  summary: "Approves the candidate's content.",
  help: `Usage: signalbox policy approve ID [options]

Approves one content of a policy, with the key in SIGNALBOX_KEY as the approver, and prints what its promotion still requires. An
approval is for one digest: changed content needs new approvals. A second approval by the same key replaces the first.

  --digest D            Six or more digits of the digest that you have read. Default: the present candidate.
  --report FILE         The report of signalbox policy simulate --format json that you have read. The server computes the
                        report itself; only an equal report satisfies a promotion that requires one. A report of
                        signalbox simulate with the same results counts as the server's.
${CHANGES_HELP}`,
  flags: textFlags("digest", "report"),
  work: async ({ id, values, json, server, io }) => {
    const { view } = await server.policy(id);
    const content = await requestedContent(server, view, values.digest);
    const report =
      values.report === undefined
        ? {}
        : { report: await seenReport(values.report, content, view, server, io) };
    const body = { digest: content.digest, ...report };
    const changed = await server.change(id, "approvals", body, null);
    if (json) return io.stdout(jsonText(changed.json));
    printLines(approvedLines(changed.view, content, server), io);
  },
});

/**
 * The report's reference in the approval: the server's own if both have the same results, so that
 * it is verified. A different report is sent as the approver's claim.
 *
 * @throws {NotNowError} for a different report if the promotion requires a verified one.
 */
async function seenReport(
  path: string,
  content: ChosenContent,
  { id, requirements }: PolicyView,
  server: PolicyServer,
  io: CommandIo,
): Promise<JsonObject> {
  const localReport = await readReportReference(path, id, content, io);
  const computed = await orReason(server.simulation(id, content.digest));
  const mustVerify = requirements.report || requirements.assertions;
  if (typeof computed === "string") {
    if (mustVerify)
      throw new NotNowError(`--report: cannot be verified: ${computed} Nothing was done.`);
    io.stderr(`signalbox policy approve: the report is not verified: ${computed}\n`);
    return localReport.reference;
  }
  if (computed.reference.sha256 === localReport.reference.sha256) return localReport.reference;
  const differences = reportDifferences(localReport.json, computed.json);
  if (differences.length === 0) return computed.reference;
  const promotion = [id, "--digest", shortDigest(content)];
  const command = server.command("simulate", ...promotion, "--format", "json=report.json");
  const different = `--report: is not the simulation of this promotion as the server computes it (${differences.join(", ")}); read the server's: ${command}`;
  if (mustVerify) throw new NotNowError(`${different}; nothing was done`);
  io.stderr(`signalbox policy approve: ${different}\n`);
  return localReport.reference;
}

/** The server's report, or its reason for having none. */
async function orReason(report: Promise<ServerReport>) {
  try {
    return await report;
  } catch (error) {
    if (error instanceof NotNowError) return error.message;
    throw error;
  }
}

function approvedLines(view: PolicyView, content: Content, server: PolicyServer): readonly Line[] {
  const { id, candidate, missing, requirements } = view;
  const isCandidate = candidate?.digest === content.digest;
  const notSelf =
    requirements.approvals > 0 && !requirements.self_approval
      ? ", and another person must promote it"
      : "";
  const still =
    missing === null
      ? "the missing requirements are unknown"
      : `still missing: ${missingTexts(missing)}`;
  return [
    line(0, span(`${id}: approved ${contentText(content)}`, "green")),
    ...(isCandidate ? [] : [line(0, "note: this content is not the candidate now")]),
    ...(isCandidate && missing?.length !== 0 ? [line(0, still)] : []),
    ...(isCandidate && missing?.length === 0
      ? [
          line(0, `nothing more is required${notSelf}`),
          pasteLine("next: ", server.command("promote", id)),
        ]
      : []),
    pasteLine("undo: ", server.command("withdraw", id, "--digest", shortDigest(content))),
  ];
}

/** The commands about the policies of a running server, in the order of the help. */
export const LIFECYCLE_COMMANDS = [
  listPolicies,
  showPolicy,
  diffPolicy,
  simulatePromotion,
  approvePolicy,
  promotePolicy,
  rollBackPolicy,
  withdrawPolicy,
  releasePolicy,
  policyHistory,
];

import type { JsonObject } from "../../../canon/json.ts";
import { line, span, type Line } from "../../terminal/layout.ts";
import type { CommandIo } from "../../terminal/command-io.ts";
import { lifecycleCommand, printLines } from "./command.ts";
import { readReportReference, reportDifferences, type Approved, type ServerReport } from "./promotion-report.ts";
import type { PolicyServer } from "./client.ts";
import { requestedContent } from "./find-content.ts";
import { NotNowError } from "./refusal.ts";
import type { Content, PolicyView } from "./view.ts";
import { commandText, contentText } from "./contents.ts";
import { missingTexts } from "./missing.ts";
import { jsonText } from "../../terminal/printing.ts";

export const approvePolicy = lifecycleCommand({
  name: "approve",
  summary: "Approves the candidate's content.",
  access: "changes",
  about: `Approves one content of a policy, with the key in SIGNALBOX_KEY as the approver, and prints what its promotion still requires. An
approval is for one digest: changed content needs new approvals. A second approval by the same key replaces the first.`,
  flags: {
    digest: {
      type: "string",
      value: "D",
      help: "Six or more digits of the digest that you have read. Default: the present candidate.",
    },
    report: {
      type: "string",
      value: "FILE",
      help: `The report of signalbox policy simulate --format json that you have read. The server computes the
report itself; only an equal report satisfies a promotion that requires one. A report of
signalbox simulate with the same results counts as the server's.`,
    },
  },
  work: async ({ id, values, json, server, io }) => {
    const { view } = await server.policy(id);
    const content = await requestedContent(server, view, values.digest);
    const isRemoval = content.digest === view.candidate?.digest && view.candidate.content === "removal";
    const approved = { policy: id, content, isRemoval };
    const report = values.report === undefined ? null : await seenReport(values.report, approved, view, server, io);
    const body = { digest: content.digest, ...(report === null ? {} : { report }) };
    const changed = await server.change(id, "approvals", body, null);
    if (json) return io.stdout(jsonText(changed.json));
    printLines(approvedLines(changed.view, content, server), io);
  },
});

/**
 * How the approval names the report: as the server's own where the file says the same, so that it is verified. What differs is sent as the approver's
 * claim, unless the promotion requires a report: then such an approval would not help.
 *
 * @throws {NotNowError} where it would not.
 */
async function seenReport(
  path: string,
  approved: Approved,
  view: PolicyView,
  server: PolicyServer,
  io: CommandIo,
): Promise<JsonObject> {
  const seen = await readReportReference(path, approved, io);
  const own = await orNotMade(server.simulation(approved.policy, approved.content.digest));
  const { report, assertions } = view.requirements;
  if (typeof own === "string") {
    if (report || assertions) throw new NotNowError(`--report: cannot be verified: ${own} Nothing was done.`);
    io.stderr(`signalbox policy approve: the report is not verified: ${own}\n`);
    return seen.reference;
  }
  if (own.reference["sha256"] === seen.reference["sha256"]) return seen.reference;
  const differences = reportDifferences(seen.json, own.json);
  if (differences.length === 0) return own.reference;
  const digest = approved.content.digest.slice(0, 12);
  const argv = ["policy", "simulate", approved.policy, "--digest", digest, "--format", "json=report.json"];
  const said = `--report: is not the simulation of this promotion as the server computes it (${differences.join(", ")}); read the server's: ${commandText(argv, server.flag)}`;
  if (report || assertions) throw new NotNowError(`${said}; nothing was done`);
  io.stderr(`signalbox policy approve: ${said}\n`);
  return seen.reference;
}

/** Why the server could not make its report. */
async function orNotMade(made: Promise<ServerReport>): Promise<ServerReport | string> {
  try {
    return await made;
  } catch (error) {
    if (error instanceof NotNowError) return error.message;
    throw error;
  }
}

function approvedLines(view: PolicyView, content: Content, server: PolicyServer): readonly Line[] {
  const { id, candidate, missing, requirements } = view;
  const isCandidate = candidate?.digest === content.digest;
  const command = (text: string, ...argv: readonly string[]): Line => ({
    ...line(0, span(text), span(commandText(["policy", ...argv], server.flag), "cyan")),
    whole: true,
  });
  const notSelf =
    requirements.approvals > 0 && !requirements.self_approval ? ", and another person must promote it" : "";
  const still = missing === null ? "the missing requirements are unknown" : `still missing: ${missingTexts(missing)}`;
  return [
    line(0, span(`${id}: approved ${contentText(content)}`, "green")),
    ...(isCandidate ? [] : [line(0, span("note: this content is not the candidate now"))]),
    ...(isCandidate && missing?.length !== 0 ? [line(0, span(still))] : []),
    ...(isCandidate && missing?.length === 0
      ? [line(0, span(`nothing more is required${notSelf}`)), command("next: ", "promote", id)]
      : []),
    command("undo: ", "withdraw", id, "--digest", content.digest.slice(0, 12)),
  ];
}

import type { JsonObject } from "../../../canon/json.ts";
import { type MISSING_REQUIREMENT, POLICY } from "../../../http/contract/policy-answers.ts";
import { readAnswer, UnreadableAnswerError, type Answer } from "../../terminal/read-answer.ts";
import { CommandError } from "../../terminal/command-io.ts";

/** A policy as a server shows it. Its texts are safe for a terminal; `etag` is the server's own. */
export type PolicyView = Answer<typeof POLICY>;

export type SlotView = NonNullable<PolicyView["candidate"]>;

/** A content of a policy, as people name it: a revision such as r4, and its lower-case hexadecimal SHA-256. */
export type Content = Pick<SlotView, "revision" | "digest">;

export type ApprovalView = PolicyView["approvals"][number];

/** One thing that a promotion lacks. */
export type Missing = Answer<typeof MISSING_REQUIREMENT>;

/** Reads a policy. @throws {CommandError} for what is none, or has contents that could not be named in a command. */
export function parseView(answer: JsonObject | null): PolicyView {
  const etag = answer?.["etag"];
  // It goes back in a header as it is.
  if (answer?.["object"] !== "policy" || typeof etag !== "string" || !/^"[\x21\x23-\x7e]{1,200}"$/.test(etag)) {
    throw notPolicies();
  }
  try {
    const view = readAnswer(POLICY, answer);
    for (const { digest } of contentsOf(view)) if (!/^[0-9a-f]{64}$/.test(digest)) throw notPolicies();
    return view;
  } catch (error) {
    throw error instanceof UnreadableAnswerError ? notPolicies() : error;
  }
}

/** All contents that a view names. */
export function contentsOf({
  enforced,
  candidate,
  rollback_to: before,
  files,
  held,
  withdrawn,
}: PolicyView): readonly Content[] {
  return [enforced, candidate, before, files, ...held, ...withdrawn].filter((content) => content !== null);
}

/** The content that a row of the log names, where the revision is a number; `null` where it names none. */
export function recordedContent(record: JsonObject | null): Content | null {
  if (record?.["revision"] === undefined) return null;
  const { revision, digest } = record;
  if (!Number.isSafeInteger(revision) || Number(revision) < 0) throw notPolicies();
  if (typeof digest !== "string" || !/^[0-9a-f]{64}$/.test(digest)) throw notPolicies();
  return { revision: `r${Number(revision)}`, digest };
}

/** What a server answers that has no policies to show. */
export function notPolicies(): CommandError {
  return new CommandError("--server: the answer is not a policy answer of Signalbox; check the address");
}

import { explainCommand } from "../../../simulate/explain/explain-arguments.ts";
import { formatTime } from "../../../canon/rfc3339.ts";
import type { ApprovalView, Content, SlotView, Missing, PolicyView } from "./policy-server.ts";
import { REQUIREMENTS } from "../../../canon/promotion.ts";

/** `r4 (9f2c1a7b)` */
export function contentText({ revision, digest }: Content): string {
  return `${revision} (${digest.slice(0, 8)})`;
}

/** The same, with what a removal is: a policy's end. */
export function slotText(slot: SlotView): string {
  return `${contentText(slot)}${slot.content === "removal" ? ", the policy's removal" : ""}`;
}

/** `2026-03-02T10:00Z`, to the minute; `?` where a server does not say it. */
export function timeText(time: number | null): string {
  return time === null ? "?" : `${formatTime(time).slice(0, 16)}Z`;
}

/** `key 7f3a of acme-prod (security)` */
export function actorText({ key_id: key, workspace, roles, person }: ApprovalView["by"]): string {
  return `${person === undefined ? `key ${key}` : personText(person)} of ${workspace}${roles.length === 0 ? "" : ` (${roles.join(", ")})`}`;
}

/** `Ada (248289 at https://idp.example)` */
export function personText({
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
export function requirementLines({
  requirements,
  missing,
}: PolicyView): readonly RequirementLine[] {
  const others = REQUIREMENTS.flatMap(({ name, shown }): readonly RequirementLine[] => {
    const value = requirements[shown];
    const isRequired =
      typeof value === "object" ? value.length > 0 : value !== 0 && value !== false;
    if (!isRequired || missing?.some(({ requirement }) => requirement === name) === true) return [];
    return [
      {
        text: value === true ? shown : `${shown}: ${String(value)}`,
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
export function driftLines(view: PolicyView, server: string | null): readonly DriftLine[] {
  // Held or withdrawn content stands in no slot either; why says more.
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

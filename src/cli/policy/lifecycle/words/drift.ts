import type { Content, PolicyView } from "../server/view.ts";
import { commandText, contentText } from "./contents.ts";

/** A difference between the files of the server that answered and the slots, and what to do about it. */
export interface DriftLine {
  readonly text: string;
  readonly fix: string;
  /** The command of the fix, ready to paste; `null` where it is a change of files. */
  readonly command: string | null;
}

/** @param server for the commands; `null` where the environment names it. */
export function driftLines(view: PolicyView, server: string | null): readonly DriftLine[] {
  // Held or withdrawn content stands in no slot either; why says more.
  const isKnown = view.drift.includes("files_held") || view.drift.includes("files_withdrawn");
  const words = view.drift.filter((word) => word !== "files_differ" || !isKnown);
  return words.map((word) => DRIFTS.get(word)?.(view, server) ?? { text: word, fix: "", command: null });
}

/** The same in a table's cell. */
export function driftText({ drift }: PolicyView): string {
  return drift.map((word) => word.replaceAll("_", " ")).join(", ");
}

type MakeLine = (view: PolicyView, server: string | null) => DriftLine;

const DRIFTS: ReadonlyMap<string, MakeLine> = new Map<string, MakeLine>([
  [
    "files_differ",
    ({ id, files, candidate }, server) => ({
      text: `the server's files hold ${filesText(files)} that stands in no slot`,
      fix:
        candidate === null
          ? "an older replica: bring its files up to date; or make them the candidate:"
          : "an older replica: bring its files up to date",
      command: candidate === null ? releaseCommand(id, files, server) : null,
    }),
  ],
  [
    "files_held",
    ({ id, files }, server) => ({
      text: `the server's files hold ${filesText(files)}, which was rolled back and is held`,
      fix: "change the files back, or let it be promoted again:",
      command: releaseCommand(id, files, server),
    }),
  ],
  [
    "files_withdrawn",
    ({ id, files }, server) => ({
      text: `the server's files hold ${filesText(files)}, which was withdrawn`,
      fix: "change the files back, or make it the candidate again:",
      command: releaseCommand(id, files, server),
    }),
  ],
  [
    "candidate_not_in_files",
    ({ id, candidate }, server) => ({
      text: `the candidate ${candidate === null ? "" : `${contentText(candidate)} `}is not what the server's files hold`,
      fix: "bring the server's files up to date, or give the candidate up:",
      command: commandText(["policy", "withdraw", id, "--candidate"], server),
    }),
  ],
  [
    "module_differs",
    () => ({
      text: "the store keeps a module that its sources do not compile to; servers run what they compile from the sources",
      fix: "somebody has changed the store, or a server wrote to it whose compile cache was forged; find out who, with:",
      command: "signalbox policy verify",
    }),
  ],
  [
    "not_in_files",
    ({ id, candidate }, server) => ({
      text: "the server's files do not have the policy",
      fix:
        candidate?.content === "removal"
          ? "put the file back, or end the policy:"
          : "put the file back, or send the server SIGHUP, and the policy's end becomes the candidate",
      command: candidate?.content === "removal" ? commandText(["policy", "promote", id], server) : null,
    }),
  ],
]);

function filesText(files: Content | null): string {
  return files === null ? "a content" : contentText(files);
}

function releaseCommand(id: string, files: Content | null, server: string | null): string | null {
  return files === null ? null : commandText(["policy", "release", id, "--digest", files.digest.slice(0, 12)], server);
}

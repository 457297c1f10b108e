import type { PolicyView } from "../server/view.ts";
import { commandText } from "./contents.ts";

/** What there is to do next, and the command for it where one does it. */
export interface NextStep {
  readonly text: string;
  readonly command: string | null;
}

const APPROVALS: ReadonlySet<string> = new Set(["approvals", "roles", "report", "assertions"]);
const WAITING: ReadonlySet<string> = new Set(["soak", "decisions"]);

/** @param server for the commands; `null` where the environment names it. */
export function nextStep(view: PolicyView, server: string | null): NextStep {
  const { id, candidate, enforced, missing, requirements } = view;
  const command = (...words: readonly string[]): string => commandText(["policy", ...words], server);
  if (candidate === null) return { text: "nothing to do: there is no candidate", command: null };
  if (candidate.held) {
    const digest = candidate.digest.slice(0, 12);
    return {
      text: "it was rolled back; change its file, or let it be promoted again:",
      command: command("release", id, "--digest", digest),
    };
  }
  const lacking = new Set(missing?.map(({ requirement }) => requirement));
  if (lacking.has("no_indeterminate")) {
    return {
      text: "the policy could not be evaluated for some requests; mend it, and the mended content starts anew",
      command: null,
    };
  }
  if (!lacking.isDisjointFrom(APPROVALS)) {
    const report = requirements.report || requirements.assertions ? ["--report", "report.json"] : [];
    return {
      text: "whoever approves:",
      command: command("approve", id, "--digest", candidate.digest.slice(0, 12), ...report),
    };
  }
  if (!lacking.isDisjointFrom(WAITING)) return { text: "wait: it has not been watched for long enough", command: null };
  if (lacking.size > 0) return { text: "the server requires something that this command does not know", command: null };
  return {
    text: missing === null ? "promote it:" : "nothing is missing:",
    command: command(
      "promote",
      id,
      "--expect-candidate",
      `r${candidate.revision}`,
      "--expect-enforced",
      enforced === null ? "none" : `r${enforced.revision}`,
    ),
  };
}

import type { PolicyStates } from "../../lifecycle/policy-states.ts";
import { driftOf, type DriftWord } from "../../lifecycle/observe.ts";

/** How the files of a server differ from the slots of the log, in one policy. */
export interface PolicyDrift {
  readonly policy: string;
  readonly drift: DriftWord;
}

/** @param files digests by policy id. @param differing digests of contents whose kept module is not what its sources compile to. */
export function driftsOf(
  states: PolicyStates,
  files: ReadonlyMap<string, { readonly digest: string }>,
  differing: ReadonlySet<string>,
): readonly PolicyDrift[] {
  return [...states.policies.values()].flatMap((status) =>
    driftOf(status, files.get(status.id)?.digest ?? null, differing).map((drift) => ({ policy: status.id, drift })),
  );
}

/** The message for operators. */
export const DRIFT_SENTENCES: Readonly<Record<DriftWord, string>> = {
  files_differ: "the content of the files is known and is in no slot; other content is enforced or in shadow",
  files_held: "what the files hold was rolled back and is held",
  files_withdrawn: "what the files hold was withdrawn",
  candidate_not_in_files: "the candidate is not what the files hold",
  not_in_files: "the files do not have it; it acts or is watched nevertheless",
  module_differs:
    "the store keeps a module that its sources do not compile to; this server runs what it compiled from the sources",
};

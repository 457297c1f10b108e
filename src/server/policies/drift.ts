import type { PolicyStates } from "../../lifecycle/policy-states.ts";
import { driftOf, type Drift } from "../../lifecycle/observe.ts";

/** How the files of a server differ from the slots of the log, in one policy. */
export interface PolicyDrift {
  readonly policy: string;
  readonly drift: Drift;
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
export const DRIFT_SENTENCES: Readonly<Record<Drift, string>> = {
  files_differ: "the content of the files was seen before and is in no slot; other content is enforced or in shadow",
  files_held: "the content of the files was rolled back and is held; release it or change the files",
  files_withdrawn: "the content of the files was withdrawn",
  candidate_not_in_files: "the candidate differs from the content of the files",
  not_in_files: "the policy is not in the files; it is still enforced or in shadow",
  module_differs:
    "the store keeps a module that its sources do not compile to; this server runs what it compiled from the sources",
};

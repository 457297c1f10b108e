import { readDocument } from "./authored/document.ts";
import { POLICY_DIRECTORY } from "./authored/schema-policies.ts";
import { normaliseText } from "./authored/text.ts";
import { nodeAt } from "./authored/tree.ts";
import { DEFAULT_POLICY_DIRECTORY } from "./normalised/defaults.ts";
import { Findings } from "./findings/findings.ts";

/**
 * The policy folder of a routes.yaml, relative to it, as far as the text can be followed: policies are compiled even
 * where the table has errors. The compiler reports what cannot be followed.
 */
export function policyDirectory(text: string): { readonly directory: string; readonly declared: boolean } {
  const tree = readDocument(normaliseText(text), new Findings(""));
  const node = tree === null ? null : nodeAt(tree, ["policies", "dir"]);
  const value = node?.kind === "scalar" ? node.value : null;
  // The schema refuses other paths, but this runs before it: a path that leads out of the folder must not be read.
  if (typeof value !== "string" || !new RegExp(POLICY_DIRECTORY, "u").test(value)) {
    return { directory: DEFAULT_POLICY_DIRECTORY, declared: false };
  }
  return { directory: value, declared: true };
}

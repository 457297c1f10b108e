import { posix } from "node:path";
import { readDocument } from "../authored/document.ts";
import { normaliseText } from "../authored/text.ts";
import { nodeAt } from "../authored/tree.ts";
import { Findings } from "../findings/findings.ts";

/**
 * The files that `jwks_file` names in the texts of a configuration, sorted, by path from the folder of routes.yaml. A text that cannot be read names none:
 * the compiler reports it.
 */
export function keySetFiles(texts: readonly string[]): readonly string[] {
  const found = texts
    // Most configurations name none, and parsing takes time.
    .filter((text) => text.includes("jwks_file"))
    .flatMap((text) => {
      const tree = readDocument(normaliseText(text), new Findings(""));
      const issuers = tree === null ? null : nodeAt(tree, ["workload_identity", "issuers"]);
      if (issuers?.kind !== "map") return [];
      return [...issuers.members.values()].flatMap(({ node }) => {
        const file = nodeAt(node, ["jwks_file"]);
        return file?.kind === "scalar" && typeof file.value === "string" ? [posix.normalize(file.value)] : [];
      });
    });
  return [...new Set(found)].toSorted();
}

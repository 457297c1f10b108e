import type { Source } from "../canon/diagnostic.ts";
import type { Findings } from "./findings/findings.ts";
import { readDocument, normaliseText } from "./authored/document.ts";
import { reportLiteralSecrets } from "./authored/literal-secrets.ts";
import { expandPresets } from "./presets.ts";
import { mergeOverlay, mergePart } from "./merge.ts";
import type { ConfigNode } from "./authored/tree.ts";

/** The files beside routes.yaml that say something of the table. */
export interface FurtherSources {
  /** Included files, sorted by path. */
  readonly parts?: readonly Source[];
  /** The overlay of the environment; `null` where none was requested. */
  readonly overlay?: Source | null;
  /**
   * Texts of the files with keys of issuers of workloads, by path from the folder of routes.yaml.
   */
  readonly keySets?: ReadonlyMap<string, string>;
}

/**
 * routes.yaml with what it includes and the overlay upon it, as one tree with its presets followed;
 * `null` where one of the texts has no meaning to go on with.
 *
 * @param presets gets the preset of each provider that names one.
 */
export function readTree(
  source: Source,
  { parts = [], overlay = null }: FurtherSources,
  findings: Findings,
  presets: Map<string, string> = new Map(),
): ConfigNode | null {
  const text = normaliseText(source.text);
  const tree = readDocument(text, findings);
  reportLiteralSecrets(text, tree, findings);
  const readFurther = (further: Source): ConfigNode | null => {
    const names = normaliseText(further.text);
    const node = readDocument(names, findings, further.path);
    reportLiteralSecrets(names, node, findings, further.path);
    return node;
  };
  const read = parts.map(readFurther);
  const upon = overlay === null ? null : readFurther(overlay);
  if (tree === null || read.includes(null) || (overlay !== null && upon === null)) return null;
  if (tree.kind !== "map") return tree;
  for (const part of read) if (part !== null) mergePart(tree, part, source.path, findings);
  if (upon !== null) mergeOverlay(tree, upon, findings);
  for (const [provider, preset] of expandPresets(tree, findings)) presets.set(provider, preset);
  return tree;
}

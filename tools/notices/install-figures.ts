import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ProductionTree } from "./production-tree.ts";

/** What one installation of the package comes to. */
export interface InstallFigures {
  /** Packages that `dependencies` names. */
  readonly direct: number;
  /** Packages beside Signalbox itself. */
  readonly packages: number;
  /** Bytes of their files, without Signalbox's own. */
  readonly bytes: number;
}

/**
 * Counts the tree in the repository's `node_modules`; sizes are those of files, not of disk blocks.
 */
export function installFigures(root: string, tree: ProductionTree): InstallFigures {
  const bytes = tree.packages.map(({ path }) => bytesBelow(join(root, path)));
  return {
    direct: tree.direct.length,
    packages: tree.packages.length,
    bytes: bytes.reduce((sum, one) => sum + one, 0),
  };
}

/**
 * Bytes of the files below a folder, without nested `node_modules`, which are packages of their
 * own.
 */
export function bytesBelow(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? sum : sum + bytesBelow(path);
    return entry.isFile() ? sum + statSync(path).size : sum;
  }, 0);
}

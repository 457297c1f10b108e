import { posix } from "node:path";
import type { Diagnostic } from "../../../canon/diagnostic.ts";
import { compileConfiguration, type CompiledConfiguration } from "../../../compile/compile.ts";
import type { FileTree } from "../../../compile/file-tree.ts";
import { loadFromTree } from "../../../compile/load.ts";
import type { CompileCache } from "../../../policy/toolchain/compile-cache.ts";
import { SIMULATED } from "./import-files.ts";

/** What `signalbox check` says of the files before they are written. */
export interface Verified {
  readonly diagnostics: readonly Diagnostic[];
  readonly table: CompiledConfiguration["table"];
}

/** Compiles the files of an import as `check` does, also in the environment of the simulated provider. */
export async function verifyFiles(files: ReadonlyMap<string, string>, cache: CompileCache | null): Promise<Verified> {
  const tree = memoryTree(files);
  const plain = await compileConfiguration(await loadFromTree(tree, "routes.yaml", "routes.yaml"), { cache });
  const overlaid = await loadFromTree(tree, "routes.yaml", "routes.yaml", SIMULATED);
  const simulated = await compileConfiguration({ ...overlaid, policies: [] }, { cache });
  const errors = simulated.diagnostics.filter(({ severity, file }) => severity === "error" && file.includes(SIMULATED));
  return { diagnostics: [...plain.diagnostics, ...errors], table: plain.table };
}

function memoryTree(files: ReadonlyMap<string, string>): FileTree {
  return {
    readText: async (path) => files.get(posix.normalize(path)) ?? { unread: "absent" },
    namesIn: async (folder) => {
      const prefix = posix.normalize(folder) === "." ? "" : `${posix.normalize(folder)}/`;
      const below = [...files.keys()].filter((path) => path.startsWith(prefix));
      const names = new Set(below.map((path) => path.slice(prefix.length).split("/")[0] ?? ""));
      return names.size === 0 ? null : [...names];
    },
  };
}

import type { Diagnostic } from "../../../src/canon/diagnostic.ts";
import type { RoutingTable } from "../../../src/canon/table.ts";
import { compileConfiguration } from "../../../src/compile/compile.ts";
import type { FileTree } from "../../../src/compile/file-tree.ts";
import { loadFromTree } from "../../../src/compile/load.ts";
import { CLEAN } from "../base.ts";

export type Files = Readonly<Record<string, string>>;

/** Files in memory; a text that begins with `-> ` is a link out of the folder. */
export function memoryTree(files: Files): FileTree {
  const paths = Object.keys(files);
  return {
    readText: async (path) => files[path] ?? { unread: "absent" },
    namesIn: async (folder) => {
      const prefix = folder === "." || folder === "" ? "" : `${folder}/`;
      const below = paths.filter((path) => path.startsWith(prefix));
      if (below.length === 0) return null;
      return [...new Set(below.map((path) => path.slice(prefix.length).split("/")[0] ?? ""))];
    },
    leadsOut: async (_folder, path) => files[path]?.startsWith("-> ") === true,
  };
}

export interface Compiled {
  readonly table: RoutingTable | null;
  readonly diagnostics: readonly Diagnostic[];
}

/** Compiles `infra/routes.yaml` of the files, whose other names are relative to `infra`. */
export async function compileFiles(
  files: Files,
  environment: string | null = null,
): Promise<Compiled> {
  const placed = Object.fromEntries(
    Object.entries(files).map(([name, text]) => [`infra/${name}`, text]),
  );
  const loaded = await loadFromTree(
    memoryTree(placed),
    "infra/routes.yaml",
    "infra/routes.yaml",
    environment,
  );
  return compileConfiguration(loaded, { cache: null });
}

/** `CODE file:line:column message (hint)` of every finding. */
export function lines({ diagnostics }: Compiled): readonly string[] {
  return diagnostics.map(
    ({ code, file, line, column, message, hint }) =>
      `${code} ${file.replace("infra/", "")}:${line}:${column} ${message}${hint === "" ? "" : ` (${hint})`}`,
  );
}

const cut = CLEAN.indexOf("models:");
const end = CLEAN.indexOf("routes:\n");

/** The clean file in three: providers, models with endpoints, and the rest. */
export const SPLIT: Files = {
  "routes.yaml": `include: [providers.yaml, teams/*.yaml]\nversion: 1\nregions:\n  eu: [eu-west, eu-central]\n  us: [us-east]\n${CLEAN.slice(end)}`,
  "providers.yaml": CLEAN.slice(CLEAN.indexOf("providers:"), cut),
  "teams/supply.yaml": CLEAN.slice(cut, end),
};

const withRoutes = (head: string): string => `${head}\n${CLEAN}`;

/** The clean file with an issuer of workloads whose keys are in a file. */
export const withKeySet = (file: string): string =>
  `${CLEAN}\nworkload_identity:\n  issuers:\n    cluster: { issuer: https://cluster.example, jwks_file: ${file} }\n  rules:\n    shop: { issued_by: cluster, audience: signalbox, claims: { sub: shop }, workspace: acme }\n`;

/** Files that raise each code of files, and the environment they are compiled for. */
export const FILE_SAMPLES: Readonly<
  Record<string, { readonly files: Files; readonly environment?: string }>
> = {
  INCLUDE_NOT_FOUND: {
    files: {
      "routes.yaml": withRoutes("include: [provders.yaml]"),
      "providers.yaml": "providers: {}\n",
    },
  },
  INCLUDE_OUTSIDE: {
    files: {
      "routes.yaml": withRoutes("include: [shared.yaml]"),
      "shared.yaml": "-> ../../shared.yaml",
    },
  },
  INCLUDE_SELF: { files: { "routes.yaml": withRoutes("include: [routes.yaml]") } },
  INCLUDE_NESTED: {
    files: {
      "routes.yaml": withRoutes("include: [teams.yaml]"),
      "teams.yaml": "include: [more.yaml]\n",
    },
  },
  INCLUDE_DUPLICATE: {
    files: {
      "routes.yaml": withRoutes("include: [teams.yaml]"),
      "teams.yaml": "routes:\n  chat: { primary: large-eu }\n",
    },
  },
  SECTION_MISPLACED: {
    files: {
      "routes.yaml": withRoutes("include: [teams.yaml]"),
      "teams.yaml": "policies:\n  dir: rules\n",
    },
  },
  ENVIRONMENT_UNKNOWN: {
    files: { "routes.yaml": CLEAN, "routes.production.yaml": "routes: {}\n" },
    environment: "prodution",
  },
  OVERLAY_REMOVES_NOTHING: {
    files: { "routes.yaml": CLEAN, "routes.production.yaml": "routes:\n  chta: null\n" },
    environment: "production",
  },
  JWKS_INVALID: {
    files: {
      "routes.yaml": withKeySet("cluster.json"),
      "cluster.json": '{ "keys": [{ "kty": "oct", "k": "c2VjcmV0" }] }',
    },
  },
};

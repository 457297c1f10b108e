import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BUNDLED } from "../build/bundled.ts";

/**
 * A package that Signalbox delivers, installed beside it or bundled into it, as the lockfile has
 * it.
 */
export interface ProductionPackage {
  readonly name: string;
  readonly version: string;
  /** Folder below the repository, such as `node_modules/ajv`. */
  readonly path: string;
  /** SPDX identifier; empty where the package states none. */
  readonly licence: string;
  /** SHA-512 of the tarball, hexadecimal. */
  readonly sha512: string;
  readonly hasInstallScript: boolean;
  /** Folders of what it needs, sorted. */
  readonly needs: readonly string[];
}

/**
 * The root's direct dependencies, the bundled packages, and all that these need; sorted by folder.
 */
export interface ProductionTree {
  readonly version: string;
  readonly direct: readonly string[];
  readonly packages: readonly ProductionPackage[];
}

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/**
 * Walks the lockfile from the root's dependencies, as Node would resolve them.
 *
 * @param bundled packages that the build inlines; without them the tree is what `npm install`
 * brings.
 * @throws {Error} where one is not locked
 */
export function readProductionTree(
  root: string,
  bundled: readonly string[] = BUNDLED,
): ProductionTree {
  const lock: { packages: Record<string, LockedPackage> } = JSON.parse(
    readFileSync(join(root, "package-lock.json"), "utf8"),
  );
  const found = new Map<string, ProductionPackage>();

  const needsOf = (
    path: string,
    { dependencies, optionalDependencies, ...locked }: LockedPackage,
  ): string[] => {
    const peers = Object.keys(locked.peerDependencies ?? {});
    const wanted = [
      ...Object.keys(dependencies ?? {}),
      ...peers.filter((name) => locked.peerDependenciesMeta?.[name]?.optional !== true),
    ];
    const optional = Object.keys(optionalDependencies ?? {});
    return [
      ...wanted.map((name) => {
        const resolved = resolveFrom(lock.packages, path, name);
        if (resolved === null)
          throw new Error(
            `package-lock.json: ${path || "the root"} needs ${name}, which is not locked`,
          );
        return resolved;
      }),
      ...optional
        .map((name) => resolveFrom(lock.packages, path, name))
        .filter((resolved) => resolved !== null),
    ].toSorted();
  };

  const visit = (path: string): void => {
    const locked = lock.packages[path];
    if (locked === undefined || found.has(path)) return;
    const needs = needsOf(path, locked);
    found.set(path, {
      name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
      version: locked.version ?? "",
      path,
      licence: locked.license ?? "",
      sha512: Buffer.from(locked.integrity?.replace(/^sha512-/, "") ?? "", "base64").toString(
        "hex",
      ),
      hasInstallScript: locked.hasInstallScript === true,
      needs,
    });
    for (const need of needs) visit(need);
  };

  const top = lock.packages[""] ?? {};
  const inlined = Object.entries(top.devDependencies ?? {}).filter(([name]) =>
    bundled.includes(name),
  );
  const direct = needsOf("", {
    dependencies: { ...top.dependencies, ...Object.fromEntries(inlined) },
  });
  for (const path of direct) visit(path);
  return {
    version: top.version ?? "",
    direct,
    packages: [...found.values()].toSorted((left, right) => (left.path < right.path ? -1 : 1)),
  };
}

/** The nearest `node_modules` upwards that has it. */
function resolveFrom(
  packages: Readonly<Record<string, LockedPackage>>,
  from: string,
  name: string,
): string | null {
  for (
    let folder = from;
    ;
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf("node_modules/") - 1))
  ) {
    const found = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (Object.hasOwn(packages, found)) return found;
    if (folder === "") return null;
  }
}

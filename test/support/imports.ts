import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "../..");
export const SOURCE = join(ROOT, "src");

/**
 * One import as it is written, and the file that it leads to; `null` for a package or a module of
 * Node.
 */
export interface Import {
  readonly specifier: string;
  readonly target: string | null;
}

/**
 * Statements (of types too), `import("…")` (in types too), and threads and processes whose file is
 * named by an URL.
 */
const FORMS = [
  /^(?:import|export)\b[^;"'`]*?\bfrom\s+"([^"]+)"/gm,
  /^import\s+"([^"]+)"/gm,
  /\bimport\(\s*"([^"]+)"\s*\)/g,
  /\bnew URL\(`(\.[^`$]+)\$\{/g,
];

/** Every file below a folder, as absolute paths. */
export function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

export const textOf = (path: string): string => readFileSync(path, "utf8");

/** A path as messages name it, from the root of the repository. */
export const shown = (path: string): string => relative(ROOT, path).replaceAll("\\", "/");

/** Everything that a file imports, types too. */
export function importsOf(path: string): readonly Import[] {
  const text = textOf(path);
  const specifiers = FORMS.flatMap((form) =>
    [...text.matchAll(form)].map(([, specifier = ""]) => specifier),
  );
  return specifiers.map((specifier) => ({ specifier, target: targetOf(path, specifier) }));
}

function targetOf(path: string, specifier: string): string | null {
  if (!specifier.startsWith(".")) return null;
  const target = resolve(dirname(path), specifier);
  return existsSync(target) ? target : `${target}.ts`;
}

/** Everything that a file reaches at run time or in types. */
export function reachableFrom(path: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file) || !existsSync(file)) return;
    seen.add(file);
    for (const { target } of importsOf(file)) if (target !== null) visit(target);
  };
  visit(path);
  return seen;
}

/**
 * Groups of nodes that reach each other (Tarjan's algorithm); nodes that are in no circle are
 * omitted.
 */
export function circlesOf(
  graph: ReadonlyMap<string, ReadonlySet<string>>,
): readonly (readonly string[])[] {
  const order = new Map<string, number>();
  const stack: string[] = [];
  const circles: (readonly string[])[] = [];
  const visit = (node: string): number => {
    const own = order.size;
    let low = own;
    order.set(node, own);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (stack.includes(next)) low = Math.min(low, order.get(next) ?? own);
    }
    if (low === own) {
      const members = stack.splice(stack.indexOf(node));
      if (members.length > 1) circles.push(members.toSorted());
    }
    return low;
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return circles;
}

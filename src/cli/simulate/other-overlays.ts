import { createHash } from "node:crypto";
import { posix } from "node:path";
import { environmentsOf } from "../../compile/files/includes.ts";
import type { SettingChange } from "../../simulate/report/report.ts";
import { shownIn, type SideTree } from "./sides.ts";

/**
 * Overlays of environments that are not compared, where they differ: a report without them must not read as "no changes".
 *
 * @param environment the one that is compared; `null`: none.
 */
export async function changedOverlays(
  trees: { readonly base: SideTree; readonly head: SideTree },
  config: string,
  environment: string | null,
): Promise<readonly SettingChange[]> {
  const [before, after] = [await overlaysOf(trees.base, config), await overlaysOf(trees.head, config)];
  const names = [...new Set([...before.keys(), ...after.keys()])].filter((name) => name !== environment).toSorted();
  const { dir, name: main, ext } = posix.parse(shownIn(config));
  return names.flatMap((name): readonly SettingChange[] => {
    const [was, is] = [before.get(name) ?? null, after.get(name) ?? null];
    if (was === is) return [];
    const path = posix.join(dir, `${main}.${name}${ext}`);
    const where = { file: path, line: 1, column: 1, side: is === null ? ("base" as const) : ("head" as const) };
    return [{ path, before: was, after: is, where, effect: "other_environment", gate: null }];
  });
}

/** Environment → the first digits of the overlay's digest. */
async function overlaysOf(tree: SideTree, config: string): Promise<ReadonlyMap<string, string>> {
  const path = tree.pathOf(shownIn(config), "--config");
  const folder = posix.dirname(path);
  const { name: main, ext } = posix.parse(path);
  const names = environmentsOf(posix.basename(path), (await tree.files.namesIn(folder)) ?? []);
  const texts = names.map(async (name): Promise<readonly [string, string]> => {
    const text = await tree.files.readText(posix.join(folder, `${main}.${name}${ext}`), folder);
    // One that cannot be read differs from one that can.
    const digest = createHash("sha256").update(typeof text === "string" ? text : text.unread);
    return [name, digest.digest("hex").slice(0, 12)];
  });
  return new Map(await Promise.all(texts));
}

import { watch, type FSWatcher } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** Editors write in several steps; a change counts when nothing has followed it for this long, milliseconds. */
const QUIET = 150;

/**
 * Calls back after routes.yaml or a policy has changed. Folders are watched, not files: an editor that replaces a file would otherwise
 * be watched no more after its first save.
 *
 * @param policyDirectory relative to the folder of `config`.
 * @returns a function that ends it.
 */
export function watchConfiguration(config: string, policyDirectory: string, changed: () => void): () => void {
  const folder = dirname(resolve(config));
  const policies = join(folder, policyDirectory);
  let timer: NodeJS.Timeout | null = null;
  const later = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(changed, QUIET);
  };
  const watchers: FSWatcher[] = [];
  const add = (path: string, concerns: (file: string) => boolean): void => {
    try {
      const watcher = watch(path, (_event, file) => {
        if (file !== null && concerns(file)) later();
      });
      // A folder that is removed ends its watcher; SIGHUP still reloads.
      watcher.on("error", () => watcher.close());
      watchers.push(watcher);
    } catch {
      // No such folder, or a file system without notifications: SIGHUP still reloads.
    }
  };
  add(folder, (file) => file === basename(config));
  add(policies, (file) => file.endsWith(".rego"));
  add(join(policies, "lib"), (file) => file.endsWith(".rego"));
  return () => {
    if (timer !== null) clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}

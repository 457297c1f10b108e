import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { policyDirectory } from "../../compile/policy-directory.ts";

/** How often the files are looked at, milliseconds. */
const INTERVAL = 500;

/**
 * Calls back after routes.yaml or a policy has changed. The files are looked at twice a second rather than watched: notifications end with a
 * folder that is removed and made again, are silent when a symbolic link is pointed elsewhere (a mounted Kubernetes ConfigMap), and do not
 * exist on network file systems. A change counts when the next look finds the same, because editors write in several steps.
 *
 * @param config path of routes.yaml; the policy folder is the one that its newest text names.
 * @param others files beside it. @returns a function that ends it.
 */
export function watchConfiguration(config: string, changed: () => void, others: readonly string[] = []): () => void {
  const path = resolve(config);
  let ended = false;
  let timer: NodeJS.Timeout | null = null;
  let seen: string | null = null;
  let told: string | null = null;
  const fingerprint = fingerprinter(path, others);
  const look = async (): Promise<void> => {
    const now = await fingerprint();
    if (ended) return;
    told ??= now;
    if (now === seen && now !== told) {
      told = now;
      changed();
    }
    seen = now;
    timer = setTimeout(() => void look(), INTERVAL);
    timer.unref();
  };
  void look();
  return () => {
    ended = true;
    if (timer !== null) clearTimeout(timer);
  };
}

/** Text that differs when a file was written, replaced, added or removed, wherever symbolic links lead. Never rejects. */
function fingerprinter(config: string, others: readonly string[]): () => Promise<string> {
  let read = "";
  let policies = "";
  return async () => {
    const routes = await stampOf(config);
    if (routes !== read) {
      const text = await readFile(config, "utf8").catch(() => "");
      policies = join(dirname(config), policyDirectory(text).directory);
      read = routes;
    }
    const files = [...(await regoFiles(policies)), ...(await regoFiles(join(policies, "lib"))), ...others];
    return [routes, ...(await Promise.all(files.map(stampOf)))].join("\n");
  };
}

async function regoFiles(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.endsWith(".rego"))
    .toSorted()
    .map((name) => join(folder, name));
}

async function stampOf(path: string): Promise<string> {
  try {
    const { mtimeNs, size, ino } = await stat(path, { bigint: true });
    return `${path} ${mtimeNs} ${size} ${ino}`;
  } catch {
    return `${path} absent`;
  }
}

import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { directoryTree } from "../compile/file-tree.ts";
import { expandInclude, includeEntries, overlayName } from "../compile/includes.ts";
import { policyDirectory } from "../compile/load.ts";
import { PRICE_FILE } from "../compile/prices.ts";

/** How often the files are looked at, milliseconds. */
const INTERVAL = 500;

/**
 * Calls back after routes.yaml, an included file, the overlay, the price list or a policy has
 * changed. The files are looked at twice a second rather than watched: notifications end with a
 * folder that is removed and made again, are silent when a symbolic link is pointed elsewhere (a
 * mounted Kubernetes ConfigMap), and do not exist on network file systems. A change counts when the
 * next look finds the same, because editors write in several steps.
 *
 * @param config path of routes.yaml; the policy folder and the included files are those that its
 * newest text names.
 * @param environment whose overlay is looked at; `null` for none.
 * @param others files beside them.
 * @returns a function that ends it.
 */
export function watchConfiguration(
  config: string,
  environment: string | null,
  changed: () => void,
  others: readonly string[] = [],
): () => void {
  return poll(fingerprinter(resolve(config), environment, others), changed);
}

/**
 * Calls back after one of these files has changed, as {@link watchConfiguration} does. @returns a
 * function that ends it.
 */
export function watchFiles(files: readonly string[], changed: () => void): () => void {
  if (files.length === 0) return () => {};
  return poll(async () => (await Promise.all(files.map(stampOf))).join("\n"), changed);
}

/** @param fingerprint never rejects. */
function poll(fingerprint: () => Promise<string>, changed: () => void): () => void {
  let ended = false;
  let timer: NodeJS.Timeout | null = null;
  let lastFingerprint: string | null = null;
  let reported: string | null = null;
  const look = async () => {
    const now = await fingerprint();
    if (ended) return;
    reported ??= now;
    if (now === lastFingerprint && now !== reported) {
      reported = now;
      changed();
    }
    lastFingerprint = now;
    timer = setTimeout(() => void look(), INTERVAL);
    timer.unref();
  };
  void look();
  return () => {
    ended = true;
    if (timer !== null) clearTimeout(timer);
  };
}

/**
 * Text that differs when a file was written, replaced, added or removed, wherever symbolic links
 * lead. Never rejects.
 */
function fingerprinter(
  config: string,
  environment: string | null,
  others: readonly string[],
): () => Promise<string> {
  const folder = dirname(config);
  const overlay =
    environment === null ? [] : [join(folder, overlayName(basename(config), environment))];
  const tree = directoryTree(folder);
  let stamp = "";
  let policies = "";
  let patterns: readonly string[] = [];
  return async () => {
    const routes = await stampOf(config);
    if (routes !== stamp) {
      const read = await tree.readText(basename(config));
      const text = typeof read === "string" ? read : "";
      policies = join(folder, policyDirectory(text).directory);
      patterns = includeEntries(text).map(({ pattern }) => pattern);
      stamp = routes;
    }
    const parts = await Promise.all(patterns.map((pattern) => expandInclude(tree, ".", pattern)));
    const included = parts.flat().map((name) => join(folder, name));
    const files = [
      ...included,
      ...overlay,
      join(folder, PRICE_FILE),
      ...others,
      ...(await regoFiles(policies)),
      ...(await regoFiles(join(policies, "lib"))),
    ];
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

export type ReloadRequests = ReturnType<typeof createReloadRequests>;

/**
 * Requests to reload, by SIGHUP or because files have changed. They may come at any time: before
 * there is a server, or while it reloads, one is remembered for all of them; while it drains they
 * mean nothing, so that stopping waits for the reload under way only.
 */
export function createReloadRequests() {
  let reload: (() => Promise<void>) | null = null;
  let isRunning = false;
  let isWaiting = false;

  const request = () => {
    if (reload === null || isRunning) isWaiting = true;
    else void run(reload);
  };

  async function run(work: () => Promise<void>) {
    isWaiting = false;
    isRunning = true;
    await work();
    isRunning = false;
    if (isWaiting) request();
  }

  return {
    /** Also a signal's listener: without one SIGHUP would end the process. */
    request,
    /**
     * From now on requests are carried out, beginning with one that has waited. @param work never
     * rejects.
     */
    beginReloads(work: () => Promise<void>): void {
      reload = work;
      if (isWaiting) request();
    },
    /** From now on requests are ignored. */
    endReloads(): void {
      reload = () => Promise.resolve();
    },
  };
}

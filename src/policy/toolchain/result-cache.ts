import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Entries that stay in a folder; the ones unused for longest go first. */
const KEPT_ENTRIES = 64;

const ENTRY = /^[0-9a-f]{64}\.json$/;

/**
 * Results of the toolchain on disk, so that a start does not compile what an earlier one has compiled. Never fatal:
 * whatever goes wrong with the folder only costs the time of a run.
 *
 * The digest in front of an entry finds damage, not malice: whoever may write to the folder may write policies.
 */
export class ResultCache {
  readonly #directory: string | null;

  /** @param directory made when the first result is kept; `null` keeps nothing. */
  constructor(directory: string | null) {
    this.#directory = directory;
  }

  /** The name of a result: what it was made of, by content. */
  static key(parts: readonly string[]): string {
    const hash = createHash("sha256");
    // The length in front keeps two lists that differ in where a part ends from sharing a name.
    for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
    return hash.digest("hex");
  }

  /** The text kept under the key; `null` where there is none, or it is not what was written. */
  async read(key: string): Promise<string | null> {
    if (this.#directory === null) return null;
    const path = join(this.#directory, `${key}.json`);
    try {
      const entry = await readFile(path, "utf8");
      const text = entry.slice(DIGEST_LENGTH + 1);
      if (entry !== sealed(text)) return null;
      const now = new Date();
      await utimes(path, now, now);
      return text;
    } catch {
      return null;
    }
  }

  async write(key: string, text: string): Promise<void> {
    if (this.#directory === null) return;
    const path = join(this.#directory, `${key}.json`);
    const unfinished = `${path}.${randomUUID()}`;
    try {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      await writeFile(unfinished, sealed(text), { mode: 0o600, flag: "wx" });
      // A reader sees the whole entry or none, also when two processes write the same one.
      await rename(unfinished, path);
      await this.#prune(this.#directory);
    } catch {
      await rm(unfinished, { force: true }).catch(() => undefined);
    }
  }

  async #prune(directory: string): Promise<void> {
    const names = (await readdir(directory)).filter((name) => ENTRY.test(name));
    if (names.length <= KEPT_ENTRIES) return;
    const aged = await Promise.all(
      names.map(async (name) => ({ name, used: (await stat(join(directory, name))).mtimeMs })),
    );
    aged.sort((left, right) => right.used - left.used);
    for (const { name } of aged.slice(KEPT_ENTRIES)) await rm(join(directory, name), { force: true });
  }
}

const DIGEST_LENGTH = 64;

function sealed(text: string): string {
  return `${createHash("sha256").update(text).digest("hex")}\n${text}`;
}

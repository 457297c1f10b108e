import { createHash, createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readRegularFile } from "../read-regular-file.ts";
import { openCompileCache, type CompileCache, type OpenedCache } from "./compile-cache.ts";

/** Entries that stay in a folder; the ones unused for longest go first. */
const KEPT_ENTRIES = 256;

/** Bytes of the largest entry that is read: a module of hundreds of policies has some megabytes. */
const LARGEST_ENTRY = 256 * 1024 * 1024;

const ENTRY = /^[0-9a-f]{64}\.json$/;

/**
 * Results of the toolchain on disk, so that a start does not compile what an earlier one has
 * compiled. Never fatal: any failure of the folder only costs the time of a run.
 *
 * What is read here is enforced. So every entry begins with an HMAC-SHA256 over its name and its
 * text, keyed with the installation's secret: a file that was committed, copied or written by
 * another user is ignored and written again.
 */
export class ResultCache {
  readonly #cache: CompileCache | null;
  #opened: Promise<OpenedCache> | null = null;

  /** @param cache its folders are made when they are first needed; `null` keeps nothing. */
  constructor(cache: CompileCache | null) {
    this.#cache = cache;
  }

  /** The name of a result: what it was made of, by content. */
  static key(parts: readonly string[]): string {
    const hash = createHash("sha256");
    // The length in front keeps two lists that differ in where a part ends from sharing a name.
    for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
    return hash.digest("hex");
  }

  /**
   * The text kept under the key; `null` where there is none, or it is not what this installation
   * wrote.
   */
  async read(key: string): Promise<string | null> {
    const opened = await this.#open();
    if (opened === null) return null;
    const path = join(opened.directory, `${key}.json`);
    const entry = await readRegularFile(path, LARGEST_ENTRY);
    if (typeof entry === "string") return null;
    const [seal, text] = [
      Buffer.from(entry.subarray(0, SEAL_LENGTH)),
      Buffer.from(entry.subarray(SEAL_LENGTH)),
    ];
    const expected = Buffer.from(sealOf(opened.secret, key, text));
    if (seal.length !== expected.length || !timingSafeEqual(seal, expected)) return null;
    const now = new Date();
    await utimes(path, now, now).catch(() => undefined);
    return text.toString("utf8");
  }

  async write(key: string, text: string): Promise<void> {
    const opened = await this.#open();
    if (opened === null) return;
    const path = join(opened.directory, `${key}.json`);
    const unfinished = `${path}.${randomUUID()}`;
    try {
      const bytes = Buffer.from(text);
      await writeFile(
        unfinished,
        Buffer.concat([Buffer.from(sealOf(opened.secret, key, bytes)), bytes]),
        {
          mode: 0o600,
          flag: "wx",
        },
      );
      // A reader sees the whole entry or none, also when two processes write the same one.
      await rename(unfinished, path);
      await this.#prune(opened.directory);
    } catch {
      await rm(unfinished, { force: true }).catch(() => undefined);
    }
  }

  async #open(): Promise<{ readonly directory: string; readonly secret: Uint8Array } | null> {
    if (this.#cache === null) return null;
    const opened = await (this.#opened ??= openCompileCache(this.#cache));
    return opened.ok ? { directory: this.#cache.directory, secret: opened.secret } : null;
  }

  async #prune(directory: string): Promise<void> {
    const names = (await readdir(directory)).filter((name) => ENTRY.test(name));
    if (names.length <= KEPT_ENTRIES) return;
    const aged = await Promise.all(
      names.map(async (name) => ({ name, used: (await stat(join(directory, name))).mtimeMs })),
    );
    aged.sort((left, right) => right.used - left.used);
    for (const { name } of aged.slice(KEPT_ENTRIES))
      await rm(join(directory, name), { force: true });
  }
}

/** Hexadecimal digits of the HMAC, and a line feed. */
const SEAL_LENGTH = 65;

/** The name is part of it: an entry that was renamed would be the result of another source. */
function sealOf(secret: Uint8Array, key: string, text: Uint8Array): string {
  return `${createHmac("sha256", secret).update(`signalbox compile cache 1\n${key}\n`).update(text).digest("hex")}\n`;
}

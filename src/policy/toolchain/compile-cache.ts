import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import type { Stats } from "node:fs";
import { link, lstat, mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { readRegularFile } from "../read-regular-file.ts";

/** Entries that stay in a folder; the ones unused for longest go first. */
const KEPT_ENTRIES = 256;

/** Bytes of the largest entry that is read: a module of hundreds of policies has some megabytes. */
const LARGEST_ENTRY = 256 * 1024 * 1024;

const ENTRY = /^[0-9a-f]{64}\.json$/;

/**
 * Results of the toolchain on disk, so that a start does not compile what an earlier one has
 * compiled. Never fatal: any failure of the folder only costs the time of a run.
 *
 * Entries are enforced. So each begins with an HMAC-SHA256 over its name and its
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

  async #prune(directory: string) {
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
function sealOf(secret: Uint8Array, key: string, text: Uint8Array) {
  return `${createHmac("sha256", secret).update(`signalbox compile cache 1\n${key}\n`).update(text).digest("hex")}\n`;
}

/** Where compiled policies are kept between runs. */
export interface CompileCache {
  /** Folder of the entries, absolute. */
  readonly directory: string;
  /**
   * Folder of the installation's secret, absolute. It must be the user's own, and never one that
   * comes with a checkout.
   */
  readonly secretDirectory: string;
}

/** A cache whose folders were checked, or one sentence that names what is wrong and the fix. */
type OpenedCache =
  | { readonly ok: true; readonly secret: Uint8Array }
  | { readonly ok: false; readonly reason: string };

const FIX = "use a folder of your own (docs/operations.md#compiled-policies)";

const SECRET_FILE = "secret";
const SECRET_BYTES = 32;

/**
 * Permissions of others that let them change what is in a folder, and any permission of others on
 * the secret.
 */
const WRITABLE_BY_OTHERS = 0o022;
const OPEN_TO_OTHERS = 0o077;

/**
 * Makes the folders and the secret where they are missing, and checks that no other user can write
 * to them. Never rejects.
 *
 * The secret authenticates entries ({@link ResultCache}), so that a file that another user has
 * written is never used.
 */
export async function openCompileCache({
  directory,
  secretDirectory,
}: CompileCache): Promise<OpenedCache> {
  if (await isInWorkingTree(secretDirectory)) {
    const reason = `${secretDirectory} is in a git working tree; set XDG_CACHE_HOME to a folder outside of it`;
    return { ok: false, reason };
  }
  for (const folder of new Set([secretDirectory, directory])) {
    const reason = await checkFolder(folder);
    if (reason !== null) return { ok: false, reason };
  }
  const path = join(secretDirectory, SECRET_FILE);
  try {
    return { ok: true, secret: (await readSecret(path)) ?? (await makeSecret(path)) };
  } catch (error) {
    const reason =
      error instanceof SecretError
        ? `${path} ${error.message}; delete it`
        : `${path} cannot be made${codeOf(error)}; ${FIX}`;
    return { ok: false, reason };
  }
}

/** Whether a file of the folder could be a committed one, with a public secret. */
async function isInWorkingTree(folder: string): Promise<boolean> {
  for (let above = resolve(folder); ; above = dirname(above)) {
    if ((await lstat(join(above, ".git")).catch(() => null)) !== null) return true;
    if (dirname(above) === above) return false;
  }
}

/** The fault of a folder, with the fix; `null` where it can be used. */
async function checkFolder(path: string): Promise<string | null> {
  try {
    const found = (await lstat(path).catch(() => null)) ?? (await makeFolder(path));
    if (found.isSymbolicLink()) return `${path} is a symbolic link; give the folder itself`;
    if (!found.isDirectory()) return `${path} is not a folder; ${FIX}`;
    if (isForeign(found.uid)) return `${path} belongs to another user; ${FIX}`;
    if (hasMode(found.mode, WRITABLE_BY_OTHERS))
      return `other users can write to ${path}; run: chmod go-w on it`;
    return null;
  } catch (error) {
    return `${path} cannot be made${codeOf(error)}; ${FIX}`;
  }
}

async function makeFolder(path: string): Promise<Stats> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  return await lstat(path);
}

/** A secret file that must not be used. The message follows the path. */
class SecretError extends Error {
  override readonly name = "SecretError";
}

/**
 * `null` where there is none yet. @throws {SecretError} for a file that others could have read or
 * written.
 */
async function readSecret(path: string): Promise<Uint8Array | null> {
  const read = await readRegularFile(path, 2 * SECRET_BYTES);
  if (read === "absent") return null;
  if (typeof read === "string") throw new SecretError("is not the secret of the compile cache");
  const { uid, mode } = await lstat(path);
  if (isForeign(uid)) throw new SecretError("belongs to another user");
  if (hasMode(mode, OPEN_TO_OTHERS)) throw new SecretError("can be read by other users");
  const secret = Buffer.from(Buffer.from(read).toString("latin1"), "hex");
  if (secret.length !== SECRET_BYTES) throw new SecretError("is damaged");
  return secret;
}

/**
 * A process that comes at the same time gets the same secret: only the first link to the name is
 * made.
 */
async function makeSecret(path: string): Promise<Uint8Array> {
  const unfinished = `${path}.${randomUUID()}`;
  try {
    await writeFile(unfinished, randomBytes(SECRET_BYTES).toString("hex"), {
      mode: 0o600,
      flag: "wx",
      flush: true,
    });
    await link(unfinished, path).catch((error: unknown) => {
      if (codeOf(error) !== " (EEXIST)") throw error;
    });
  } finally {
    await rm(unfinished, { force: true });
  }
  const secret = await readSecret(path);
  if (secret === null) throw new SecretError("was deleted while it was made");
  return secret;
}

/** Node reports no owner on Windows; a profile's folder is its user's there. */
function isForeign(uid: number) {
  return process.getuid !== undefined && uid !== process.getuid();
}

function hasMode(mode: number, bits: number) {
  return process.getuid !== undefined && (mode & bits) !== 0;
}

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return typeof code === "string" && /^[A-Z0-9_]{2,20}$/.test(code) ? ` (${code})` : "";
}

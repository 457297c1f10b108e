import { randomBytes, randomUUID } from "node:crypto";
import type { Stats } from "node:fs";
import { link, lstat, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { readRegularFile } from "../read-regular-file.ts";

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
export type OpenedCache =
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

/** What is wrong with a folder, with the fix; `null` where it can be used. */
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
function isForeign(uid: number): boolean {
  return process.getuid !== undefined && uid !== process.getuid();
}

function hasMode(mode: number, bits: number): boolean {
  return process.getuid !== undefined && (mode & bits) !== 0;
}

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return typeof code === "string" && /^[A-Z0-9_]{2,20}$/.test(code) ? ` (${code})` : "";
}

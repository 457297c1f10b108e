import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Scope } from "../../canon/identity.ts";
import {
  DAY,
  createKey,
  importKey,
  type CreatedKey,
  type KeyOptions,
} from "../../keys/key-record.ts";
import { parseKeyText } from "../../keys/key-text.ts";
import { DuplicateKeyError } from "../../keys/key-store.ts";
import type { Store } from "../../store/port.ts";
import { CommandError, errorCode } from "../terminal/command-io.ts";

export const BOOTSTRAP_VARIABLE = "SIGNALBOX_BOOTSTRAP_KEY";

/**
 * Checks the operator's first key before the store is opened.
 *
 * @throws {CommandError} where it is set and no whole key; the message does not quote it.
 */
export function checkBootstrapKey(given: string | undefined): void {
  if (given === undefined || given === "" || parseKeyText(given) !== null) return;
  throw new CommandError(
    `${BOOTSTRAP_VARIABLE}: this is not a whole service key; give one as "signalbox keys create" prints it, or leave the variable out`,
  );
}

/**
 * Gives a store without keys one `operations:manage` key (docs/deployment.md#one-machine): the one
 * in `SIGNALBOX_BOOTSTRAP_KEY`, or a new one whose text is returned to be shown once. `null` without
 * a text to show.
 *
 * @param file for its text, written before the key exists: no key without a known text is stored;
 * `null` where a terminal shows it.
 * @throws {CommandError} where the file cannot be written, or exists already: then no key is made.
 */
export async function bootstrapKey(
  store: Store,
  workspace: string,
  given: string | undefined,
  file: string | null,
): Promise<string | null> {
  if ((await store.keys.list()).length > 0) return null;
  const options = {
    workspace,
    scopes: ["operations:manage"] satisfies Scope[],
    owner: "bootstrap",
    environment: "production",
    expiresAt: Date.now() + 30 * DAY,
    createdBy: "bootstrap",
  };
  if (given !== undefined && given !== "") {
    try {
      await store.keys.create(importKey(given, options, Date.now));
    } catch (error) {
      // Another replica with the same key started first.
      if (!(error instanceof DuplicateKeyError)) throw error;
    }
    return null;
  }
  const { text, record } = createKey(options, Date.now, randomBytes);
  if (file !== null) await writeKeyFile(file, text);
  try {
    await store.keys.create(record);
  } catch (error) {
    if (file !== null) await rm(file, { force: true });
    throw error;
  }
  return text;
}

/** Writes a file of mode 0600, synced to disk; removes it after an error. */
async function writeKeyFile(file: string, text: string) {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // Exclusive: neither a file nor the target of a link is overwritten.
    await writeFile(file, `${text}\n`, { flag: "wx", mode: 0o600, flush: true });
  } catch (error) {
    const call: unknown = error instanceof Error ? Reflect.get(error, "syscall") : undefined;
    // Before it is opened, a file of this name is another one.
    if (call !== "mkdir" && call !== "open") await rm(file, { force: true });
    const isThere = call === "open" && errorCode(error) === "EEXIST";
    throw new CommandError(
      `--first-key-file: ${file} ${isThere ? "exists already, and is not overwritten" : "cannot be written"}, so no first key was made; ` +
        `name a new file in a folder that can be written, or give a key of your own as ${BOOTSTRAP_VARIABLE}`,
      { cause: error },
    );
  }
}

/** Scopes for a first look, without management. */
const DEMO_SCOPES: readonly Scope[] = [
  "inference",
  "catalogue:read",
  "route:simulate",
  "governance:read",
  "spend:read",
];

/** The holder of the console's first session sees and manages everything. */
const OPERATOR_SCOPES: readonly Scope[] = [...DEMO_SCOPES, "operations:manage", "platform:manage"];

/** Stores a key of one day. The next start with `--demo` revokes it. */
export async function createDemoKey(
  store: Store,
  key: Pick<KeyOptions, "workspace" | "owner" | "scopes" | "limits">,
): Promise<CreatedKey> {
  const options = { ...key, environment: "development", createdBy: "demo" };
  const created = createKey({ ...options, expiresAt: Date.now() + DAY }, Date.now, randomBytes);
  await store.keys.create(created.record);
  return created;
}

/**
 * Makes two keys of one day and revokes those of earlier starts. @returns the text of the key for the
 * request to paste, and the id of the key that signs in to the console.
 */
export async function demoKeys(store: Store, workspace: string) {
  const now = Date.now();
  for (const key of await store.keys.list()) {
    if (key.createdBy === "demo" && key.status === "active") await store.keys.revoke(key.id, now);
  }
  const demo = { workspace, owner: "demo", scopes: DEMO_SCOPES };
  const { text } = await createDemoKey(store, demo);
  const operator = { workspace, owner: "demo-operator", scopes: OPERATOR_SCOPES };
  const { record } = await createDemoKey(store, operator);
  return { text, operator: record.id };
}

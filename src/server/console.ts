import { randomBytes } from "node:crypto";
import { readBundle, type Bundle } from "../http/console/bundle.ts";
import type { Console } from "../http/console/console-port.ts";
import type { OpenKeyRing } from "../keys/key-ring.ts";
import { Sessions } from "../keys/sessions/sessions.ts";
import { SignInCodes } from "../keys/sessions/sign-in-codes.ts";
import type { Store } from "../store/port.ts";
import type { ServeOptions } from "./serve-options.ts";

/** Where the package has the page, beside this file's folder, and where a checkout builds it. */
const FOLDERS = [new URL("../console/", import.meta.url), new URL("../../console/dist/", import.meta.url)];

/** The console as the options ask for it. */
export interface OpenConsole {
  readonly runtime: Console;
  /** A code that signs in once, in this process, as the holder of a key. */
  readonly signInCode: (keyId: string) => string;
}

/** @returns `null` where there is to be none. */
export function openConsole(
  { console: listener = "off", tls, exposure }: Pick<ServeOptions, "console" | "tls" | "exposure">,
  store: Pick<Store, "sessions">,
  keys: Pick<OpenKeyRing, "holder" | "lookUpId">,
): OpenConsole | null {
  if (listener === "off") return null;
  const codes = new SignInCodes(randomBytes);
  let built: Promise<Bundle | null> | null = null;
  const bundle = async (): Promise<Bundle | null> => {
    built ??= firstBundle();
    const found = await built;
    // Built while the server runs, it is there at the next request.
    if (found === null) built = null;
    return found;
  };
  const runtime: Console = {
    listener,
    // The options speak of the public listener; the admin listener has no TLS.
    isSecure: listener === "public" && (tls !== undefined || exposure === "behind_proxy"),
    bundle,
    sessions: new Sessions(store.sessions, randomBytes),
    holderOf: async (keyId, now) => {
      const known = keys.holder(keyId, now);
      if (known !== null || !(await keys.lookUpId(keyId))) return known?.identity ?? null;
      return keys.holder(keyId, now)?.identity ?? null;
    },
    takeCode: (code, now) => codes.take(code, now),
  };
  return { runtime, signInCode: (keyId) => codes.make(keyId, Date.now()) };
}

async function firstBundle(): Promise<Bundle | null> {
  for (const folder of FOLDERS) {
    const found = await readBundle(folder);
    if (found !== null) return found;
  }
  return null;
}

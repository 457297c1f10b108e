import { variable } from "../network/credential-files.ts";
import { findCredentialGap } from "./call-credentials.ts";
import type { SecretReference } from "../canon/secret-reference.ts";
import type { OnMissingSecret, RoutingTable } from "../canon/table.ts";

export interface MissingSecret {
  readonly provider: string;
  readonly reference: SecretReference;
  readonly onMissing: OnMissingSecret;
}

interface ResolvedSecrets {
  /** Provider id → secret, for providers whose header never changes. The only object that holds secrets after start; never log it, never put it into the table. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Not set, empty, or in a file that cannot be read. The caller does what `onMissing` says. */
  readonly missing: readonly MissingSecret[];
  /** Set, but with characters that a header cannot carry. Never a case for `onMissing`: the variable was set on purpose. */
  readonly refused: readonly { readonly provider: string; readonly reference: SecretReference }[];
}

/**
 * Follows the references of the table's providers, in the order of their ids. One line feed (or CR LF) at the end of a
 * file is not part of the secret, because editors and mounted volumes add it.
 *
 * @param readFile gives the text of a file and may throw; its error is dropped, since it could hold the path's content.
 */
export function resolveSecrets(
  table: RoutingTable,
  environment: Readonly<Record<string, string | undefined>>,
  readFile: (path: string) => string,
): ResolvedSecrets {
  const secrets = new Map<string, string>();
  const missing: MissingSecret[] = [];
  const refused: { provider: string; reference: SecretReference }[] = [];
  for (const { id: provider, auth } of Object.values(table.providers)) {
    if (auth.kind === "none") continue;
    if (auth.kind !== "header") {
      const found = findCredentialGap(auth, environment, readFile);
      if (found?.gap === "missing") missing.push({ provider, reference: found.reference, onMissing: auth.onMissing });
      if (found?.gap === "unusable") refused.push({ provider, reference: found.reference });
      continue;
    }
    const { secret: reference, onMissing } = auth;
    const value = "env" in reference ? variable(environment, reference.env) : fromFile(readFile, reference.file);
    if (value === "") missing.push({ provider, reference, onMissing });
    // A line feed inside a header value would let a secret write headers of its own.
    else if (/[^\x20-\x7e]/.test(value)) refused.push({ provider, reference });
    else secrets.set(provider, value);
  }
  return { secrets, missing, refused };
}

function fromFile(readFile: (path: string) => string, path: string): string {
  try {
    return readFile(path).replace(/\r?\n$/, "");
  } catch {
    return "";
  }
}

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { missingPrograms } from "../support/at-hand.ts";

/** Why there are no certificates; `null` where there are. */
export const NO_OPENSSL: string | null = missingPrograms("openssl");

/** A certificate for 127.0.0.1 that signs itself, good for a day, and its key. */
export function makeCertificate(
  folder: string,
  name: string,
): { readonly cert: string; readonly key: string } {
  const [cert, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const about = ["-subj", `/CN=${name}`, "-days", "1", "-addext", "subjectAltName=IP:127.0.0.1"];
  const made = spawnSync("openssl", [
    "req",
    "-x509",
    ...curve,
    "-keyout",
    key,
    "-out",
    cert,
    ...about,
  ]);
  if (made.status !== 0) throw new Error(made.stderr.toString());
  return { cert, key };
}

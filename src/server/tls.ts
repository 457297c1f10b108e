import { X509Certificate, createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { TlsMaterial } from "../http/listen.ts";
import { StartError } from "./start-error.ts";

/**
 * Files of the public listener's certificate, with those that lead to its root, and of its key;
 * PEM.
 */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/**
 * Reads certificate and key, and checks for faults that clients would reject.
 *
 * @param now milliseconds since the epoch. @throws {StartError} naming the flag and the fix, and
 * nothing of the files' content.
 */
export function readTls(files: TlsFiles, now: number): TlsMaterial {
  const cert = readPem(files.cert, "--tls-cert");
  const key = readPem(files.key, "--tls-key");
  const certificate = parsed("--tls-cert", "a certificate in PEM", () => new X509Certificate(cert));
  const privateKey = parsed("--tls-key", "a private key in PEM without a passphrase", () =>
    createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new StartError(
      "--tls-key: is not the key of the certificate; the server's own certificate must come first",
    );
  }
  if (certificate.validToDate.getTime() <= now) {
    throw new StartError("--tls-cert: the certificate has expired; give a renewed one");
  }
  if (certificate.validFromDate.getTime() > now) {
    throw new StartError(
      "--tls-cert: the certificate is not valid yet; look at this machine's clock",
    );
  }
  parsed("--tls-cert", "a certificate that TLS can use", () => createSecureContext({ cert, key }));
  return { cert, key };
}

/** When the certificate expires, milliseconds since the epoch. */
export function expiryOf({ cert }: Pick<TlsMaterial, "cert">): number {
  return new X509Certificate(cert).validToDate.getTime();
}

function readPem(path: string, flag: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new StartError(`${flag}: the file cannot be read`);
  }
}

/** OpenSSL's errors may quote the text that they cannot read. */
function parsed<Value>(flag: string, what: string, parse: () => Value): Value {
  try {
    return parse();
  } catch {
    throw new StartError(`${flag}: the file must contain ${what}`);
  }
}

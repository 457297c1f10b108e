import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";
import type { SignatureV4 } from "@smithy/signature-v4";
import type { Authorize, OutgoingRequest } from "../connections.ts";
import type { AwsKeys } from "./aws-keys.ts";
import type { Renewed } from "./renewed.ts";

interface AwsSignerOptions {
  /** The service's name in signatures, such as `bedrock`. */
  readonly service: string;
  readonly region: string;
  /** As the `host` header says it, with a port that is not the scheme's own. */
  readonly host: string;
  readonly keys: Renewed<AwsKeys>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Headers of a signed request that were not there before. */
const ADDED = [
  "authorization",
  "x-amz-date",
  "x-amz-content-sha256",
  "x-amz-security-token",
] as const;

/** A proxy may change it without changing the request. */
const UNSIGNED: ReadonlySet<string> = new Set(["accept-encoding"]);

/**
 * Signs calls with AWS Signature Version 4. The canonical path encodes what the request line has
 * encoded once more (`:` is sent as `%3A` and signed as `%253A`), as all services but S3 want it.
 */
export function createAwsSigner({ service, region, host, keys, now }: AwsSignerOptions): Authorize {
  // Loaded when it is first needed: most routers sign nothing.
  let signer: Promise<SignatureV4> | null = null;
  const load = async () => {
    const library = await import("@smithy/signature-v4");
    return new library.SignatureV4({
      service,
      region,
      credentials: async () => keys.get(),
      sha256: Sha256,
    });
  };
  const { hostname, port, protocol } = new URL(`https://${host}`);
  return async (request) => {
    const { path, query } = splitPath(request.path);
    signer ??= load();
    const signed = await (
      await signer
    ).sign(
      {
        method: request.method,
        protocol,
        hostname,
        ...(port === "" ? {} : { port: Number(port) }),
        path,
        query,
        headers: { ...headersOf(request), host },
        body: request.body,
      },
      { signingDate: new Date(now()), unsignableHeaders: new Set(UNSIGNED) },
    );
    return ADDED.flatMap((name) => {
      const value = signed.headers[name];
      return value === undefined ? [] : [name, value];
    });
  };
}

function headersOf({ headers }: OutgoingRequest): Record<string, string> {
  const named: Record<string, string> = {};
  for (let index = 0; index + 1 < headers.length; index += 2) {
    named[(headers[index] ?? "").toLowerCase()] = headers[index + 1] ?? "";
  }
  return named;
}

/** Path and query apart. A name that is given twice keeps all its values. */
function splitPath(path: string): {
  readonly path: string;
  readonly query: Record<string, string[]>;
} {
  const mark = path.indexOf("?");
  if (mark === -1) return { path, query: {} };
  const query: Record<string, string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(path.slice(mark + 1)))
    (query[name] ??= []).push(value);
  return { path: path.slice(0, mark), query };
}

type Bytes = string | ArrayBuffer | ArrayBufferView;

/** SHA-256, or its HMAC where there is a key, in the shape that the signer wants. */
class Sha256 {
  readonly #secret: Bytes | undefined;
  #hash: Hash | Hmac;

  constructor(secret?: Bytes) {
    this.#secret = secret;
    this.#hash = begin(secret);
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    this.#hash = begin(this.#secret);
  }
}

function begin(secret: Bytes | undefined): Hash | Hmac {
  if (secret === undefined) return createHash("sha256");
  if (typeof secret === "string") return createHmac("sha256", secret);
  const bytes = ArrayBuffer.isView(secret)
    ? Buffer.from(secret.buffer, secret.byteOffset, secret.byteLength)
    : Buffer.from(secret);
  return createHmac("sha256", bytes);
}

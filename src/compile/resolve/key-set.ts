import { createPublicKey } from "node:crypto";
import { isJsonObject, parseJson, type JsonObject, type JsonValue } from "../../canon/json.ts";

/** Keys of one issuer: two while it rotates them. */
const MOST_KEYS = 64;

/** Members of keys that are secret (RFC 7518 §6). */
const SECRET_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] as const;

/** Kinds of keys whose public half verifies signatures. A file with an `oct` key would have a shared secret in it. */
const KINDS: ReadonlySet<JsonValue | undefined> = new Set(["RSA", "EC", "OKP"]);

/** The keys of a JWK Set (RFC 7517 §5), or what is wrong with it; nothing of the file is repeated. */
export function readKeySet(text: string): readonly JsonObject[] | string {
  const value = parsed(text);
  const keys = isJsonObject(value) ? value["keys"] : null;
  if (!Array.isArray(keys)) return "is not a JWK Set: an object with a list `keys`";
  if (keys.length === 0 || keys.length > MOST_KEYS) return `must have 1 to ${MOST_KEYS} keys`;
  for (const [index, key] of keys.entries()) {
    const wrong = wrongWith(key);
    if (wrong !== null) return `has ${wrong} at keys[${index}]`;
  }
  return keys.filter(isJsonObject);
}

function wrongWith(key: JsonValue): string | null {
  if (!isJsonObject(key) || !KINDS.has(key["kty"])) return "a key other than RSA, EC or OKP";
  if (SECRET_MEMBERS.some((name) => Object.hasOwn(key, name)))
    return "a private key, which belongs to the issuer alone,";
  try {
    createPublicKey({ key, format: "jwk" });
    return null;
  } catch {
    // Node's message may quote the key.
    return "a key that cannot be read";
  }
}

function parsed(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

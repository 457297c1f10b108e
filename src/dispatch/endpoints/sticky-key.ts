import { createHmac, randomBytes } from "node:crypto";
import type { InferenceRequest } from "../../canon/request.ts";

/**
 * What keeps a conversation at one endpoint: the caller's own name for it, else the session header's value, else what all its requests begin with. `null` where the
 * request has nothing of the kind.
 *
 * @param session the session header's value; `null` where there is none.
 */
export type StickyKeyOf = (request: Pick<InferenceRequest, "body" | "reader">, session: string | null) => string | null;

/**
 * Makes keys that say nothing of what they were made from: a keyed digest, whose secret dies with the process. Equal requests have equal keys only under one
 * secret; replicas that shall agree where a conversation goes are given the same one.
 */
export function stickyKeys(secret: Uint8Array = randomBytes(32)): StickyKeyOf {
  return ({ body, reader }, session) => {
    const name = reader.conversationName(body);
    if (name !== null) return digestOf(secret, "name", name);
    if (session !== null && session !== "") return digestOf(secret, "session", session);
    const opening = reader.conversationOpening(body);
    return opening === null ? null : digestOf(secret, "opening", opening);
  };
}

function digestOf(secret: Uint8Array, kind: string, text: string): string {
  return createHmac("sha256", secret).update(`${kind}:${text}`).digest("base64url");
}

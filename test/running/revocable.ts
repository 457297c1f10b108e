import { expect } from "vitest";
import { StopOrder, keyRevocations } from "../../src/dispatch/stop-order.ts";
import { errorOf, startRouter, type Router } from "../support/router.ts";
import { identity } from "../support/table.ts";

/** A router whose only key is revoked by `revoke`, with or without its running answers. */
export async function revocable(
  options: Parameters<typeof startRouter>[0],
  running: "end" | "finish",
): Promise<{ readonly router: Router; readonly revoke: () => void }> {
  let isRevoked = false;
  const revocations = keyRevocations(
    () => isRevoked,
    () => running,
  );
  const router = await startRouter({
    ...options,
    runtime: { stopOrder: new StopOrder(), revocations },
  });
  const revoke = (): void => {
    isRevoked = true;
    revocations.revoked(identity.keyId, identity.workspace);
  };
  return { router, revoke };
}

export async function expectRevoked(answer: Promise<Response>): Promise<void> {
  const response = await answer;
  expect(response.status).toBe(401);
  expect(await errorOf(response)).toMatchObject({
    type: "authentication_error",
    code: "key_revoked",
  });
}

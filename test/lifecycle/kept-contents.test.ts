import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  KEPT_CONTENT_CAUSES,
  describeContentFault,
  keptContentCause,
  type KeptContentCause,
} from "../../src/lifecycle/fold.ts";
import type { StoredContent } from "../../src/canon/policy.ts";
import { sha256 } from "./policy-rows.ts";

const description = '{"of":"eu-residency"}';
const module = Buffer.from("\0asm some module");
const named = {
  policy: "eu-residency",
  revision: 4,
  digest: sha256(description),
  module: createHash("sha256").update(module).digest("hex"),
  position: 9,
};
const kept = { policy: "eu-residency", digest: named.digest, description, module };
/** As if contract and sources were the description's own text. */
const digestOf = (content: StoredContent): string | null =>
  content.description === "" ? null : sha256(content.description);

describe("a content in the log", () => {
  it("is found without a fault where it is whole", () => {
    expect(keptContentCause(named, kept, digestOf)).toBeNull();
  });

  it.each([
    [null, "not_kept"],
    [{ ...kept, policy: "other" }, "other_policy"],
    [{ ...kept, description: '{"of":"other"}' }, "digest"],
    [{ ...kept, module: Buffer.from("\0asm some other module") }, "module"],
    [{ ...kept, module: new Uint8Array() }, "module"],
    [{ ...kept, description: "" }, "digest"],
    [{ ...kept, description: `${description} ` }, "digest"],
    [{ ...kept, digest: sha256("another") }, "digest"],
  ] satisfies [StoredContent | null, KeptContentCause][])(
    "is found with its fault where it is missing or differs: %#",
    (found, cause) => {
      expect(keptContentCause(named, found, digestOf)).toBe(cause);
    },
  );

  it("is found with a fault where any bit is flipped", () => {
    fc.assert(
      fc.property(fc.nat(module.length * 8 - 1), (bit) => {
        const changed = Buffer.from(module);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(keptContentCause(named, { ...kept, module: changed }, digestOf)).toBe("module");
      }),
    );
  });

  it("is not quoted in the description of its fault", () => {
    for (const cause of Object.keys(KEPT_CONTENT_CAUSES) as KeptContentCause[]) {
      expect(describeContentFault(named, cause)).toMatch(
        /^names content at position 9 that is missing or damaged: /,
      );
    }
  });
});

import { TEXT, complete } from "../../canon/json/schema.ts";

/** What a denial says beside its code, in both families. */
export const DENIAL = {
  policy: complete(
    { id: TEXT, revision: TEXT, mode: { const: "enforce" } },
    "Which policy denied, of which revision (`r7`). `approvals` is the routing table, with the SHA-256 of the table as its revision.",
  ),
  failed_constraint: TEXT,
  reason_code: TEXT,
  decision_id: TEXT,
} as const;

/** Our sentence. */
export const ERROR_MESSAGE = {
  ...TEXT,
  description: "One sentence for people. It never repeats a value of the request.",
} as const;

/** Arguments of the tool in examples. */
export const WEATHER = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
} as const;

const text = { type: "string" } as const;

/** What a denial says beside its code, in both families. */
export const DENIAL = {
  policy: {
    type: "object",
    description:
      "Which policy denied, of which revision (`r7`). `approvals` is the routing table, with the SHA-256 of the table as its revision.",
    required: ["id", "revision", "mode"],
    properties: { id: text, revision: text, mode: { const: "enforce" } },
  },
  failed_constraint: text,
  reason_code: text,
  decision_id: text,
} as const;

/** Our sentence. */
export const ERROR_MESSAGE = {
  ...text,
  description: "One sentence for people. It never repeats a value of the request.",
} as const;

/** Arguments of the tool in examples. */
export const WEATHER = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
} as const;

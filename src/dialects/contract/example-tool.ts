/** Arguments of the tool in examples. */
export const WEATHER = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
} as const;

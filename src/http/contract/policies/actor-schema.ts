const text = { type: "string" } as const;
const texts = { type: "array", items: text } as const;

const PERSON = {
  type: "object",
  required: ["issuer", "subject"],
  description: "The person, if an identity provider named one; `key_id` and `origin` are then a digest of it.",
  properties: { issuer: text, subject: text, name: text },
} as const;

/** Who did something to a policy. */
export const ACTOR = {
  type: "object",
  required: ["key_id", "workspace", "origin", "roles"],
  properties: {
    key_id: text,
    workspace: text,
    person: PERSON,
    origin: {
      ...text,
      description:
        "The first key of its chain, or the person who signed in or made that key; two of one origin are one person.",
    },
    roles: { ...texts, description: "Labels that all keys of the chain have; groups of a person." },
  },
} as const;

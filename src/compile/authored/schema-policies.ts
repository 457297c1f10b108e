import { mapSettings } from "../../canon/promotion.ts";
import { DEFAULT_POLICY_DIRECTORY } from "../normalised/defaults.ts";
import { list, object, ref, refs, text } from "./schema.ts";

const POLICY_OR_ALL = text(
  "^(?:\\*|[a-z0-9]+(?:-[a-z0-9]+)*)$",
  "a policy id in kebab-case, or `*`",
);

/** A row of `policies.promotion`. */
const promotion = object(
  "Requirements of a promotion.",
  mapSettings("key", {
    count: ({ maximum, default: value, description }) =>
      ({ type: "integer", minimum: 0, maximum, default: value, description }) as const,
    flag: ({ default: value, description }) =>
      ({ type: "boolean", default: value, description }) as const,
    list: ({ default: value, description }) => ({
      ...list(description, { $ref: "#/$defs/identifier" }),
      default: value,
    }),
    duration: ({ description }) => ref("soak", description, { default: "none" }),
  }),
);

/**
 * A relative path that stays below its folder: a table must not be able to make the router read
 * elsewhere.
 */
export const POLICY_DIRECTORY = "^(?!/)(?!.*(?:^|/)\\.\\.(?:/|$))[^\\\\\\u0000-\\u001f]{1,256}$";

/** The section `policies`. */
export const policies = object("The folder of the policies, and how they start.", {
  dir: {
    ...text(
      POLICY_DIRECTORY,
      "a relative path with `/` that stays below the folder of routes.yaml",
    ),
    default: DEFAULT_POLICY_DIRECTORY,
    description: "Folder of the policies, relative to this file.",
  },
  initial_mode: {
    type: "object",
    description:
      "Policy id, or `*` for all others, and the mode in which a store starts a policy that it has never seen. Afterwards only a promotion moves it. `*` is `shadow` unless set.",
    propertyNames: POLICY_OR_ALL,
    additionalProperties: { enum: ["shadow", "enforce"] },
  },
  promotion: {
    type: "object",
    description:
      "Policy id, or `*` for all others, and the requirements of a promotion. A requirement that the policy's own row leaves out is taken from `*`.",
    propertyNames: POLICY_OR_ALL,
    additionalProperties: promotion,
  },
  managed_by: {
    ...refs(
      "identifier",
      "Workspaces whose keys, with `operations:manage`, may approve, promote, roll back, withdraw and release policies, and read the summaries of all workspaces. Unless set, no workspace may if there is more than one.",
    ),
    minItems: 1,
  },
});

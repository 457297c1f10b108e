import { DEFAULT_PROMOTION } from "../../canon/policy.ts";
import { DEFAULT_POLICY_DIRECTORY } from "../normalised/defaults.ts";
import { list, object, ref } from "./schema.ts";

const POLICY_OR_ALL = {
  type: "string",
  pattern: "^(?:\\*|[a-z0-9]+(?:-[a-z0-9]+)*)$",
  patternErrorMessage: "a policy id in kebab-case, or `*`",
} as const;

/** A row of `policies.promotion`. */
const promotion = object("What has to be there before the candidate of a policy acts.", {
  approvals: {
    type: "integer",
    minimum: 0,
    maximum: 20,
    default: DEFAULT_PROMOTION.approvals,
    description:
      "How many people must have approved exactly this content. Keys that come from one key, by rotation or by being made with it, are one person.",
  },
  roles: {
    ...list(
      "Words of `vocabulary.labels`: each must be a label of the key of one of the approvers. One person may have several.",
      { $ref: "#/$defs/word" },
    ),
    default: [...DEFAULT_PROMOTION.roles],
  },
  self_approval: {
    type: "boolean",
    default: DEFAULT_PROMOTION.selfApproval,
    description: "Whether the promoter's own approval counts.",
  },
  soak: ref(
    "soak",
    "How long the content must have been in shadow; at most `90d`. `none` takes back what `*` asks for.",
    {
      default: "none",
    },
  ),
  min_decisions: {
    type: "integer",
    minimum: 0,
    maximum: 1_000_000_000,
    default: DEFAULT_PROMOTION.decisions,
    description: "How many requests the content must have been asked about in shadow.",
  },
  no_indeterminate: {
    type: "boolean",
    default: DEFAULT_PROMOTION.noIndeterminate,
    description: "Whether a verdict `indeterminate` in shadow forbids the promotion. When enforced it would deny.",
  },
  report: {
    type: "boolean",
    default: DEFAULT_PROMOTION.report,
    description: "Whether an approval must name the complete simulation report that the server makes itself.",
  },
  assertions: {
    type: "boolean",
    default: DEFAULT_PROMOTION.assertions,
    description: "Whether the assertions of that report must all have passed or been waived. Asks for `report` too.",
  },
});

/** A relative path that stays below its folder: a table must not be able to make the router read elsewhere. */
export const POLICY_DIRECTORY = "^(?!/)(?!.*(?:^|/)\\.\\.(?:/|$))[^\\\\\\u0000-\\u001f]{1,256}$";

/** The section `policies`. */
export const policies = object("Where the policies are, and how they start.", {
  dir: {
    type: "string",
    pattern: POLICY_DIRECTORY,
    patternErrorMessage: "a relative path with `/` that stays below the folder of routes.yaml",
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
      "Policy id, or `*` for all others, and what has to be there before new content of it is promoted. What a policy's own row leaves out is that of `*`.",
    propertyNames: POLICY_OR_ALL,
    additionalProperties: promotion,
  },
  managed_by: {
    ...list(
      "Workspaces whose keys, with `operations:manage`, may approve, promote, roll back, withdraw and release policies, and see what all workspaces' requests came to. Unless set, no workspace may where there is more than one.",
      { $ref: "#/$defs/word" },
    ),
    minItems: 1,
  },
});

import { BUDGET_PERIODS } from "../../canon/limits.ts";
import { BALANCES, OWNER_PATTERN } from "../../canon/table.ts";
import {
  DEFAULT_BALANCE,
  DEFAULT_ENVIRONMENTS,
  DEFAULT_MAX_ATTEMPTS,
  DEFAULT_MAX_EJECTED_SHARE,
} from "../normalised/defaults.ts";
import { choose, list, object, range, ref, refs, text } from "./schema.ts";

/** A row of `routes`. */
export const route = object(
  "A public model name: what clients write as `model`.",
  {
    title: {
      ...text("^[^\\u0000-\\u001f\\u007f]{1,120}$", "one line of at most 120 characters"),
      description: "Name shown to people. The id unless set.",
    },
    primary: ref("name", "Endpoint that is tried first, alone or among its `peers`."),
    peers: refs(
      "name",
      "The other endpoints of the load-balanced group of the primary: `balance` defines which of them gets a request.",
    ),
    balance: {
      enum: [...BALANCES],
      default: DEFAULT_BALANCE,
      description:
        "How the primary and its `peers` share requests. `order`: the first that can. `weighted`: at random, by `weights`. `price`: the cheapest first. `latency`: by the time to the first token of streams, or to the whole answer, the better of two at random. `throughput`: the most tokens a second first. `least_in_flight`: the one with the fewest calls under way. `sticky`: the same conversation to the same endpoint, for the sake of prompt caches, shared by `weights`. The others are tried after the first one.",
    },
    weights: {
      type: "object",
      description:
        "Endpoint → its share, for `balance: weighted` and `sticky`. 1 for those that are not named; 0: only when the others have failed.",
      propertyNames: { $ref: "#/$defs/name" },
      additionalProperties: range("number", 0, 1_000_000),
    },
    fallbacks: {
      type: "array",
      description:
        "Endpoints tried after the primary and its `peers`, in this order. `{route: id}` means all endpoints of another route, with its load-balanced group as in that route. An endpoint that occurs twice is tried once, at its first position.",
      items: choose(
        "object",
        object("The endpoints of another route.", { route: ref("name", "Id under `routes`.") }, [
          "route",
        ]),
        { $ref: "#/$defs/name" },
      ),
    },
    max_attempts: {
      ...range("integer", 1, 10),
      default: DEFAULT_MAX_ATTEMPTS,
      description:
        "Most calls for one request, retries included. The header `x-max-attempts` can only lower it.",
    },
    resend_after_reset: {
      type: "boolean",
      default: false,
      description:
        "Whether a request is sent to the same endpoint again after its connection was lost before any answer. The provider may have read the request, so it may be answered and charged twice. Without it such a request goes to the next endpoint of the route or fails. A request on a connection that the provider had already closed is always sent again.",
    },
    max_ejected_share: {
      ...range("number", 0, 1),
      default: DEFAULT_MAX_EJECTED_SHARE,
      description:
        "Largest share of the route's endpoints that may be left out at once because their calls fail. One is always left.",
    },
    hedge_after: ref(
      "duration",
      "After this time without an answer, a second endpoint is called too, and the first answer is used; both calls may be charged. Never unless set. For routes that embed or rerank.",
    ),
    on_gap: {
      enum: ["deny", "narrow"],
      default: "deny",
      description:
        "Effect of an endpoint of `peers` or `fallbacks` that lacks a capability which the request needs, or that is not approved for the workspace: `deny` denies the request, `narrow` leaves that endpoint out and records it in the decision.",
    },
    unknown_fields: {
      enum: ["reject", "strip", "forward"],
      default: "reject",
      description: "Effect of request fields that no dialect has.",
    },
    emulate_json_schema: {
      type: "boolean",
      default: false,
      description:
        "Whether a response format is sent as a forced tool if an endpoint has no `json_schema`, or no `json_object`. Never together with reasoning or a forced tool.",
    },
    operations: {
      ...refs(
        "operation",
        "Operations offered under this name. All operations of the primary unless set.",
      ),
      minItems: 1,
    },
  },
  ["primary"],
);

const ceilings = {
  requests_per_minute: {
    ...range("integer", 1, 1_000_000_000),
    description: "Requests started in a minute.",
  },
  tokens_per_minute: {
    ...range("integer", 1, 1_000_000_000_000),
    description: "Tokens, input and output together, in a minute.",
  },
  concurrency: { ...range("integer", 1, 1_000_000), description: "Requests running at once." },
  budget: {
    ...object(
      "Money, counted with the prices of this file, or tokens, for a calendar period. Exactly one of `usd` and `tokens`.",
      {
        usd: { ...range("number", 0.000_001, 1_000_000_000), description: "US dollars." },
        tokens: {
          ...range("integer", 1, 1_000_000_000_000_000),
          description: "Tokens, input and output together.",
        },
        per: { enum: [...BUDGET_PERIODS], description: "Calendar period, in UTC." },
      },
      ["per"],
    ),
    minProperties: 2,
    maxProperties: 2,
  },
} as const;

/** A row of `workspaces`. */
export const workspace = object(
  "One tenant.",
  {
    tier: ref(
      "identifier",
      "How sensitive its data is, as a value that your policies use, such as `standard` or `regulated`.",
    ),
    labels: refs("identifier", "Values of `vocabulary.labels` that policies may read."),
    approve: object(
      "Routes, providers, regions and capabilities that the workspace may use. Lists only; there is no wildcard. `data_collection` and `retention` are ceilings: a provider above them is no candidate.",
      {
        routes: refs("name", "Route ids."),
        regions: refs("identifier", "Regions, or region groups for all regions in them."),
        providers: refs("identifier", "Provider ids."),
        capabilities: refs("capability", "Capabilities beyond text that its requests may use."),
        dimensions: list("Lengths of vectors that it may request.", range("integer", 1, 65_536)),
        context_window: ref(
          "tokens",
          "Largest context window of a model that it may embed with. Without it, no model is approved for embeddings.",
        ),
        data_collection: {
          enum: ["allow", "deny"],
          default: "allow",
          description:
            "With `deny`, providers with `trains_on_data` are no candidates, whatever a caller prefers. With `allow`, the preference `data_collection` of the request decides, which is `deny` unless it says otherwise.",
        },
        retention: {
          ...ref(
            "retention",
            "Longest `retention` of a provider that may be a candidate. No preference of a caller changes it.",
          ),
          default: "unlimited",
        },
      },
      ["routes", "regions", "providers"],
    ),
    default_moderation_route: ref("name", "Route for moderation requests that name none."),
    limits: object("Limits of all keys of the workspace together; no limits unless set.", {
      ...ceilings,
      per_key: object(
        "Limits of each key. A key's own limits can only be lower. The workspace's limits apply to all keys together.",
        ceilings,
      ),
      simulations_per_minute: {
        ...range("integer", 1, 1_000_000_000),
        default: 120,
        description:
          "Calls of `POST /v1/route/simulate` in a minute, for each process. They count against no other limit.",
      },
    }),
    on_revoke: {
      enum: ["end", "finish"],
      default: "end",
      description:
        "Running answers when a key is revoked: `end` them within a second, or let them `finish`. In both cases no further call begins.",
    },
    record: {
      enum: ["before_answer", "before_call"],
      default: "before_answer",
      description:
        "When a decision must be on disk: before the answer, or also before a provider is called.",
    },
  },
  ["tier", "approve"],
);

/** The section `vocabulary`. */
export const vocabulary = object(
  "Closed lists of values that policies can read. They read a value outside of its list as `other`.",
  {
    environments: {
      ...refs("identifier", "Environments that keys are made for."),
      default: DEFAULT_ENVIRONMENTS,
    },
    workloads: refs("identifier", "Workloads that keys are made for."),
    owners: list(
      "Owners of keys that policies can read.",
      text(
        OWNER_PATTERN,
        "an owner of keys, such as group:payments or an address, up to 128 characters without spaces",
      ),
    ),
    labels: refs("identifier", "Labels of workspaces and keys."),
  },
);

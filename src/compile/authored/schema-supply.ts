import {
  AWS_CREDENTIAL_SOURCES,
  GOOGLE_CREDENTIAL_SOURCES,
  LATENCY_CLASSES,
} from "../../canon/table.ts";
import { MODERATION_CATEGORIES } from "../../canon/unary.ts";
import { choose, flag, list, object, range, ref, refs, rows, text, type Schema } from "./schema.ts";
import {
  DEFAULT_AWS_PROFILE,
  DEFAULT_HEALTH,
  DEFAULT_MAX_CONCURRENCY,
  DEFAULT_PROBE_INTERVAL,
  DEFAULT_QUEUE,
  DEFAULT_RETENTION,
  DEFAULT_TIMEOUTS,
  DEFAULT_TRAINS_ON_DATA,
} from "../normalised/defaults.ts";

const signing = object(
  "Every call is signed (AWS Signature Version 4) with keys that are renewed before they expire.",
  {
    service: text(
      "^[a-z0-9][a-z0-9-]{0,62}$",
      "the name of an AWS service in signatures, such as `bedrock`",
      "Name of the service in signatures, such as `bedrock`. Compared with the service or region in the host name.",
    ),
    region: text(
      "^[a-z0-9][a-z0-9-]{0,62}$",
      "an AWS region such as `eu-west-1`",
      "Region in signatures. The host's region unless set; required where the host name has none.",
    ),
    credentials: {
      enum: AWS_CREDENTIAL_SOURCES,
      description:
        "Source of the keys; no other source is tried. `env`: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if set, AWS_SESSION_TOKEN. `web_identity`: the role AWS_ROLE_ARN with the token in AWS_WEB_IDENTITY_TOKEN_FILE. `shared_file`: a profile of the AWS tools' files. `container`: Amazon ECS or EKS. `instance`: Amazon EC2.",
    },
    profile: {
      ...text(
        "^[A-Za-z0-9_@+.%:/-]{1,128}$",
        "the name of a profile",
        "Profile of the shared files; for `credentials: shared_file` only.",
      ),
      default: DEFAULT_AWS_PROFILE,
    },
  },
  ["service", "credentials"],
);

const googleOauth = object(
  "Every call carries a Google OAuth token that is renewed before it expires.",
  {
    credentials: {
      description:
        "Source of the tokens; no other source is tried. `adc`: the file that GOOGLE_APPLICATION_CREDENTIALS names, or else gcloud's. `metadata_server`: the machine's, on Google Cloud. Or `{file: path}`.",
      ...choose(
        "string",
        { enum: GOOGLE_CREDENTIAL_SOURCES },
        object(
          "A credentials file of Google's.",
          { file: ref("path", "Path, relative to routes.yaml.") },
          ["file"],
        ),
      ),
    },
    scopes: list(
      "Scope of the tokens. `https://www.googleapis.com/auth/cloud-platform` unless set.",
      text(
        "^https://[!-~]{1,255}$",
        "a scope such as `https://www.googleapis.com/auth/cloud-platform`",
      ),
    ),
  },
  ["credentials"],
);

/** One form of `auth`: these keys, some of them required, and none of the others. */
function form(required: readonly string[], optional: readonly string[] = []): Schema {
  const others = KEYS.filter((key) => !required.includes(key) && !optional.includes(key));
  return { required, not: { anyOf: others.map((key) => ({ required: [key] })) } };
}

const KEYS = ["bearer", "header", "secret", "prefix", "aws_sigv4", "google_oauth"];

/** `auth` where it is not `none`. */
export const auth = {
  ...object("How requests authenticate to the provider.", {
    bearer: ref("secret", "Sent as `Authorization: Bearer …`."),
    header: text(
      "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$",
      "an HTTP header name",
      "Header that carries `secret`.",
    ),
    prefix: text(
      "^[A-Za-z][A-Za-z-]{0,15} ?$",
      "letters only, with a space at the end, such as `Token `",
      "Text before the secret in `header`, such as `Token `. Empty unless set.",
    ),
    secret: ref("secret", "What `header` carries."),
    aws_sigv4: signing,
    google_oauth: googleOauth,
    on_missing_secret: {
      enum: ["fail", "disable", "simulate"],
      default: "fail",
      description:
        "What to do at start when the secret is not set: refuse to start, leave the provider out, or answer from the built-in simulated upstream.",
    },
  }),
  oneOf: [
    form(["bearer"]),
    form(["header", "secret"], ["prefix"]),
    form(["aws_sigv4"]),
    form(["google_oauth"]),
  ],
};

/** `health` of a provider row. */
const health = object(
  "When an endpoint is left out for a while because its calls fail. Counted for each endpoint by itself; when the time is over, one request tries it.",
  {
    consecutive_failures: range(
      "integer",
      0,
      10_000,
      "Consecutive failures that take an endpoint out of service. 0: consecutive failures never do.",
      DEFAULT_HEALTH.consecutive_failures,
    ),
    failure_ratio: range(
      "number",
      0,
      1,
      "Share of failed calls within `window` that takes an endpoint out of service. 0: the share never does.",
      DEFAULT_HEALTH.failure_ratio,
    ),
    minimum_calls: range(
      "integer",
      1,
      1_000_000,
      "Calls that `window` must have before `failure_ratio` applies.",
      DEFAULT_HEALTH.minimum_calls,
    ),
    window: ref("duration", "How far back `failure_ratio` looks.", {
      default: DEFAULT_HEALTH.window,
    }),
    ejection: ref(
      "duration",
      "How long an endpoint is left out the first time; doubled each time in a row.",
      {
        default: DEFAULT_HEALTH.ejection,
      },
    ),
    longest_ejection: ref(
      "duration",
      "Upper bound of the doubling. It bounds a provider's Retry-After too.",
      {
        default: DEFAULT_HEALTH.longest_ejection,
      },
    ),
    probe: object(
      "A request that checks whether the provider answers. Made only while an endpoint is out of service. Without it, the next request tries the endpoint.",
      {
        path: text(
          "^/(?!/)[A-Za-z0-9._~!$&'()*+,;=:@%/-]{0,254}$",
          "a path that begins with one `/`, without a query",
          "Path after the base URL, such as `/models`.",
        ),
        interval: ref("duration", "Between two probes.", { default: DEFAULT_PROBE_INTERVAL }),
      },
      ["path"],
    ),
  },
);

const providerKeys = object(
  "One service that serves models, reached with one credential.",
  {
    preset: ref(
      "preset",
      "Known settings of a provider: `dialect`, `base_url`, `auth` and flags. Keys of the row override them. docs/presets.md lists the presets.",
      { examples: ["openai"] },
    ),
    preset_region: ref(
      "identifier",
      "The preset's name of the region, if `region` has another name in this file. `region` unless set.",
      { examples: ["eu"] },
    ),
    dialect: ref("dialect", "Wire protocol that the provider speaks."),
    base_url: {
      type: "string",
      maxLength: 2048,
      description:
        "Scheme, host and path prefix, such as `https://api.example.com/v1`. https, unless the host is a loopback address or the row has `plaintext: true`.",
    },
    network: {
      enum: ["public", "private"],
      default: "public",
      description:
        "`private`: the host may be on this machine or in a network of your own (loopback, RFC 1918, 100.64.0.0/10, fc00::/7). Otherwise the router does not connect to such addresses, whichever name resolves to them. It never connects to link-local addresses and metadata services.",
    },
    plaintext: flag(
      false,
      "Allows `http` in `base_url`, with `network: private` only, for a model server in a network of your own. Prompts, answers and the provider's key cross that network unencrypted. The router then connects to private addresses only; a name with any public address is refused.",
    ),
    api_version: text(
      "^[a-z0-9][a-z0-9.-]{0,63}$",
      "a version such as `2024-10-21`",
      "Sent as `?api-version=` with every call, for Azure's addresses outside its `v1` path. OpenAI's protocols only.",
    ),
    region: ref(
      "identifier",
      "Where the provider processes requests: one of the regions under `regions`. Compared with the region in the host name.",
    ),
    auth: {
      description:
        "`none`, `{bearer: {env: NAME}}`, `{header: x-api-key, secret: {env: NAME}}`, `{aws_sigv4: …}` or `{google_oauth: …}`.",
      ...choose("string", { const: "none" }, { $ref: "#/$defs/auth" }),
    },
    retention: ref(
      "retention",
      "How long the provider keeps requests and answers. The default is the longest, so that an omission approves nothing.",
      { default: DEFAULT_RETENTION },
    ),
    trains_on_data: flag(
      DEFAULT_TRAINS_ON_DATA,
      "Whether the provider may train on requests and answers. Assumed to be true unless set. Such a provider gets only requests with `provider: {data_collection: allow}`; a request without it counts as `deny`.",
    ),
    trace_context: flag(
      false,
      "Whether calls carry `traceparent` and `tracestate` of the request's trace. For providers of your own; any provider that gets them can link calls of one trace.",
    ),
    timeouts: object("Time limits of a call.", {
      connect: ref("duration", "Until the connection is made.", {
        default: DEFAULT_TIMEOUTS.connect,
      }),
      first_byte: ref(
        "duration",
        "From the request sent to the answer's headers. A chat answer that is not streamed begins when it is finished, so only `total` limits it.",
        { default: DEFAULT_TIMEOUTS.first_byte },
      ),
      idle: ref("duration", "Longest silence between two pieces of an answer.", {
        default: DEFAULT_TIMEOUTS.idle,
      }),
      first_token: ref("duration", "From the request sent to the first output of a stream.", {
        default: DEFAULT_TIMEOUTS.first_token,
      }),
      total: ref("duration", "The whole attempt.", { default: DEFAULT_TIMEOUTS.total }),
    }),
    max_concurrency: range(
      "integer",
      1,
      100_000,
      "Most requests at once to this provider, from one process.",
      DEFAULT_MAX_CONCURRENCY,
    ),
    queue: object(
      "Calls that wait because `max_concurrency` of the provider or of the endpoint is reached.",
      {
        size: range(
          "integer",
          0,
          100_000,
          "Calls that may wait at once. 0: none waits; the next endpoint is tried.",
          DEFAULT_QUEUE.size,
        ),
        wait: ref("duration", "Longest wait. The next endpoint is tried after it.", {
          default: DEFAULT_QUEUE.wait,
        }),
      },
    ),
    health,
    flags: refs(
      "identifier",
      "Named deviations from the dialect; listed under Flags in docs/configuration.md.",
    ),
    beta_flags: list(
      "Values of the caller's `anthropic-beta` header that may be sent to this provider. Others are left out, and the evidence records it.",
      text("^[a-z0-9][a-z0-9.-]{0,126}$", "a beta flag such as `context-management-2025-06-27`"),
    ),
  },
  ["region"],
);

/** A row of `providers`; members that its preset gives may be left out. */
export const provider = {
  ...providerKeys,
  if: { required: ["preset"] },
  // oxlint-disable-next-line unicorn/no-thenable -- `then` is a keyword of JSON Schema; no code awaits a schema
  then: {},
  else: {
    required: ["dialect", "base_url", "auth"],
    // Messages about a missing key explain its purpose.
    properties: {
      dialect: { description: "Wire protocol that the provider speaks." },
      base_url: { description: "Scheme, host and path prefix." },
      auth: { description: "How requests authenticate, unless a preset sets it." },
    },
  },
} as const;

/** A row of `models`. */
export const model = object(
  "Abilities of a model, for all its endpoints.",
  {
    operations: { ...refs("operation", "Operations of the model."), minItems: 1 },
    context_window: ref(
      "tokens",
      "Tokens that input and output may have together. Shown in the catalogue.",
    ),
    max_output_tokens: ref(
      "tokens",
      "Most tokens that an answer may have. Shown in the catalogue.",
    ),
    default_max_output_tokens: ref(
      "tokens",
      "Sent where a dialect demands a limit and the caller gave none.",
    ),
    capabilities: refs(
      "capability",
      "Capabilities beyond text. A request that needs another capability is denied.",
    ),
    dimensions: list(
      "Lengths of the vectors that the model makes; required for, and only for, models that embed.",
      range("integer", 1, 65_536),
    ),
    default_dimensions: range(
      "integer",
      1,
      65_536,
      "Length of the vectors of requests that name none. The longest unless set; answers with vectors of another length are rejected.",
    ),
    moderation_categories: {
      type: "object",
      description:
        "For models whose categories are not OpenAI's: each of their own → those of callers that it counts for. An empty list: callers do not see the category. An answer with a category that is not listed is rejected.",
      minProperties: 1,
      propertyNames: text(
        "^[a-z][a-z0-9_/-]{0,63}$",
        "a category as the provider writes it, such as `violence_and_threats`",
      ),
      additionalProperties: list("Categories of callers.", { enum: [...MODERATION_CATEGORIES] }),
    },
    signature_family: ref(
      "identifier",
      "Models of one family can read each other's signed reasoning. Leave out if the model signs none.",
    ),
    reasoning: object("How the reasoning effort is sent to the model.", {
      efforts: refs(
        "effort",
        "Efforts that the model accepts by name. All that the dialect has unless set.",
      ),
      budgets: rows(
        "Effort → tokens. Only this table ever turns an effort into a budget or a budget into an effort, and only for translated requests.",
        { $ref: "#/$defs/effort" },
        range("integer", 0, 1_000_000_000),
      ),
    }),
    refuses: refs(
      "feature",
      "Features that the model rejects although its dialect has them, such as `sampling`; listed under Features below.",
    ),
    accepts: refs(
      "feature",
      "Features that the model accepts although not all models of its dialect do; listed under Features below.",
    ),
  },
  ["operations"],
);

/** A row of `endpoints`. */
export const endpoint = object(
  "One model at one provider.",
  {
    id: ref("name", "Name that routes use."),
    model: ref("name", "Id under `models`."),
    provider: ref("identifier", "Id under `providers`."),
    upstream_model: text(
      "^[!-~]{1,256}$",
      "a model id as the provider writes it, without spaces",
      "The provider's name of the model.",
    ),
    region: ref(
      "identifier",
      "Where this endpoint processes requests, if elsewhere than its provider.",
    ),
    capabilities: refs(
      "capability",
      "Narrows the model's capabilities at this provider; it cannot add any. All of the model's unless set.",
    ),
    latency_class: {
      enum: LATENCY_CLASSES,
      description:
        "What its answers are made for. Policies read it as `candidate.latency_class`; nothing else does.",
    },
    price: object(
      "US dollars per million tokens, unless a rate has another unit. Default: the list price of the preset, if there is one.",
      {
        input: ref("dollars", "Per million input tokens."),
        output: ref("dollars", "Per million output tokens; 0 where there are none."),
        request: ref("dollars", "Per call.", { default: 0 }),
        cached_input: ref(
          "dollars",
          "Per million input tokens that were read from a cache. `input` unless set.",
        ),
        cache_write: ref(
          "dollars",
          "Per million input tokens that were written to a cache. `input` unless set.",
        ),
        cache_write_1h: ref(
          "dollars",
          "Per million input tokens that were written to a cache for an hour, where the provider counts them apart. `cache_write` unless set.",
        ),
        reasoning: ref(
          "dollars",
          "Per million output tokens that were reasoning. `output` unless set.",
        ),
        search: ref(
          "dollars",
          "Per 1,000 searches that the provider counts for a rerank. 0 unless set.",
        ),
      },
      ["input", "output"],
    ),
    max_concurrency: range(
      "integer",
      1,
      100_000,
      "Most requests at once to this endpoint, from one process. The provider's limit always applies as well.",
    ),
    batch: object(
      "Largest embeddings call. Larger batches are sent in several calls; the answer has all vectors.",
      {
        inputs: range("integer", 1, 100_000, "Inputs. What the protocol allows unless set."),
        tokens: range(
          "integer",
          1,
          100_000_000,
          "Tokens of all inputs together, estimated at three bytes of text a token. Any number unless set.",
        ),
      },
    ),
  },
  ["id", "model", "provider", "upstream_model"],
);

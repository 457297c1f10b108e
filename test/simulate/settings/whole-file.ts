/** A routes.yaml that has a value at every leaf of the schema. */
export const WHOLE_FILE = `version: 1
include: [teams/*.yaml]
regions:
  eu: [eu-west, eu-central]
  us: [us-east]
  world: [global]
  north: [eu-north, eu-far]
providers:
  alpha:
    dialect: openai-chat
    base_url: https://alpha.example/v1
    network: public
    plaintext: false
    api_version: "2024-10-21"
    region: eu-west
    auth: { bearer: { env: ALPHA_KEY }, on_missing_secret: disable }
    retention: none
    trains_on_data: false
    trace_context: false
    timeouts: { connect: 5s, first_byte: 60s, idle: 30s, first_token: 50s, total: 10m }
    max_concurrency: 100
    queue: { size: 10, wait: 2s }
    health:
      consecutive_failures: 5
      failure_ratio: 0.5
      minimum_calls: 20
      window: 30s
      ejection: 30s
      longest_ejection: 5m
      probe: { path: /models, interval: 10s }
    flags: [no_store_field]
    beta_flags: []
  beta:
    dialect: openai-chat
    base_url: https://beta.example/v1
    region: us-east
    auth: { header: x-key, prefix: "Token ", secret: { file: beta.key } }
  claude:
    preset: anthropic
    region: global
    auth: { bearer: { env: CLAUDE_KEY } }
    beta_flags: [context-management-2025-06-27]
  aws:
    preset: bedrock
    preset_region: eu-west-1
    region: eu-west
    auth:
      aws_sigv4: { service: bedrock, credentials: shared_file, profile: main }
  aws-proxy:
    dialect: bedrock-converse
    base_url: https://proxy.example/aws
    region: eu-west
    auth: { aws_sigv4: { service: bedrock, region: eu-west-1, credentials: env } }
  google:
    dialect: openai-chat
    base_url: https://google.example/v1
    region: eu-central
    auth: { google_oauth: { credentials: adc, scopes: ["https://www.googleapis.com/auth/cloud-platform"] } }
  google-file:
    dialect: openai-chat
    base_url: https://google-file.example/v1
    region: eu-central
    auth: { google_oauth: { credentials: { file: google.json } } }
  open:
    dialect: openai-chat
    base_url: https://open.example/v1
    region: eu-west
    auth: none
  named:
    dialect: openai-chat
    base_url: https://named.example/v1
    region: eu-west
    auth: { bearer: { file: named.key } }
  headed:
    dialect: openai-chat
    base_url: https://headed.example/v1
    region: eu-west
    auth: { header: x-key, secret: { env: HEADED_KEY } }
models:
  large:
    operations: [generate]
    context_window: 128000
    max_output_tokens: 16000
    default_max_output_tokens: 4000
    capabilities: [tools, json_schema]
    signature_family: openai
    reasoning: { efforts: [low, high], budgets: { low: 1000, high: 8000 } }
    refuses: [seed]
    accepts: []
  claude:
    operations: [generate]
    max_output_tokens: 16000
    default_max_output_tokens: 4000
    capabilities: [tools, json_schema]
    accepts: [top_k]
  vectors:
    operations: [embed]
    context_window: 8192
    dimensions: [512, 1536]
    default_dimensions: 1536
  spare: { operations: [generate, moderate] }
  judge:
    operations: [moderate]
    moderation_categories: { bad_terms: [hate] }
endpoints:
  - id: large-a
    model: large
    provider: alpha
    upstream_model: large-1
    region: eu-west
    capabilities: [tools, json_schema]
    latency_class: standard
    price: { input: 1.25, output: 10, request: 0.01, cached_input: 0.125, cache_write: 1.5, cache_write_1h: 2, reasoning: 12 }
    max_concurrency: 50
  - { id: large-b, model: large, provider: beta, upstream_model: large-1, price: { input: 2, output: 20 } }
  - { id: large-g, model: large, provider: google, upstream_model: large-1, price: { input: 2, output: 20 } }
  - { id: large-f, model: large, provider: google-file, upstream_model: large-1, price: { input: 2, output: 20 } }
  - { id: large-o, model: large, provider: open, upstream_model: large-1, price: { input: 2, output: 20 } }
  - { id: claude-c, model: claude, provider: claude, upstream_model: claude-1, price: { input: 3, output: 15 } }
  - { id: claude-w, model: claude, provider: aws, upstream_model: claude-1, price: { input: 3, output: 15 } }
  - { id: vectors-a, model: vectors, provider: alpha, upstream_model: v-1, batch: { inputs: 64, tokens: 8000 }, price: { input: 1, output: 0, search: 2 } }
  - { id: judge-a, model: judge, provider: alpha, upstream_model: j-1, price: { input: 0, output: 0 } }
  - { id: spare-m, model: spare, provider: beta, upstream_model: s-1, price: { input: 2, output: 20 } }
  - { id: spare, model: large, provider: beta, upstream_model: large-2 }
routes:
  chat:
    title: Any provider
    primary: large-a
    peers: [large-b]
    balance: weighted
    weights: { large-a: 3, large-b: 1 }
    fallbacks: [large-g, route: other]
    max_attempts: 3
    resend_after_reset: false
    max_ejected_share: 0.5
    on_gap: narrow
    unknown_fields: reject
    emulate_json_schema: false
    operations: [generate]
  other: { primary: large-f, fallbacks: [large-o], on_gap: narrow }
  claude: { primary: claude-c, fallbacks: [claude-w], on_gap: narrow }
  embed: { primary: vectors-a, hedge_after: 2s }
  judge: { primary: judge-a }
  even: { primary: large-f, peers: [large-o], on_gap: narrow }
  both: { primary: spare-m, operations: [generate] }
  judge-2: { primary: judge-a }
workspaces:
  acme:
    tier: standard
    labels: [eu]
    approve:
      routes: [chat, other, claude, embed, judge, judge-2, even, both]
      regions: [eu, us, world, north]
      providers: [alpha, beta, claude, aws, google, google-file, open, aws-proxy]
      capabilities: [tools, json_schema]
      dimensions: [512, 1536]
      context_window: 8192
    default_moderation_route: judge
    limits:
      requests_per_minute: 600
      tokens_per_minute: 100000
      concurrency: 20
      budget: { usd: 50, per: day }
      per_key:
        requests_per_minute: 60
        tokens_per_minute: 10000
        concurrency: 2
        budget: { tokens: 300000, per: day }
      simulations_per_minute: 10
    on_revoke: end
    record: before_call
  retail:
    tier: standard
    approve:
      routes: [chat]
      regions: [eu]
      providers: [alpha, google]
      data_collection: allow
      retention: unlimited
    limits:
      budget: { tokens: 300000, per: day, time_zone: Europe/Berlin }
      per_key: { budget: { usd: 5, per: day, time_zone: Europe/Berlin } }
policies:
  dir: policies
  denial_link: "https://wiki.example/{policy}"
  initial_mode: { "*": enforce }
  promotion:
    "*":
      approvals: 2
      roles: [reviewer]
      self_approval: false
      soak: 24h
      min_decisions: 100
      no_indeterminate: true
      report: true
      assertions: true
  managed_by: [acme]
vocabulary:
  environments: [development, production]
  workloads: [batch, web]
  owners: [group:payments, group:search]
  labels: [eu, reviewer]
console:
  url: https://signalbox.example
  idle: 30m
  absolute: 12h
  oidc:
    label: Example
    issuer: https://idp.example/realms/main
    client_id: signalbox
    client_secret: { env: CLIENT_SECRET }
    scopes: [groups]
    groups_claim: groups
    name_claim: name
  roles:
    - { group: sre, role: operator, workspaces: all }
    - { group: risk, role: approver, workspaces: [acme] }
workload_identity:
  issuers:
    cluster:
      issuer: https://cluster.example
      jwks_uri: https://cluster.example/keys
      network: public
    ci: { issuer: https://ci.example, jwks_file: keys/ci.json }
  rules:
    shop:
      issued_by: cluster
      audience: signalbox
      claims: { sub: "system:serviceaccount:shop:*" }
      workspace: acme
      scopes: [inference, "catalogue:read"]
      operations: [chat.completions, responses]
      routes: [chat, embed]
      lifetime: 10m
      environment: production
      workload: batch
      owner: group:payments
      labels: [eu]
    ci:
      issued_by: ci
      audience: signalbox
      claims: { repository: shop/app, run_attempt: 1 }
      workspace: acme
alerts:
  url: https://hooks.example/signalbox
  network: public
  secret: { env: ALERTS_SECRET }
  events: [budget_spent, keys_expiring]
`;

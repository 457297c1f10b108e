import type { BuildRequest, Failure } from "../../src/policy/toolchain/protocol.ts";

interface RefusedGroup {
  readonly why: string;
  readonly names: readonly string[];
}

/**
 * Every built-in of OPA that policies do not have, with the reason. What they have stands in
 * tools/rego/builtins.go.
 */
export const REFUSED_GROUPS: readonly RefusedGroup[] = [
  {
    why: "OPA itself calls it non-deterministic: it reads a clock, a source of randomness, the network or the process.",
    names: [
      "http.send",
      "io.jwt.decode_verify",
      "io.jwt.encode_sign",
      "io.jwt.encode_sign_raw",
      "json.match_schema",
      "json.verify_schema",
      "net.lookup_ip_addr",
      "opa.runtime",
      "rand.intn",
      "time.now_ns",
      "uuid.rfc4122",
    ],
  },
  {
    why: "The WASM target leaves it to the host. The SDK brings one in JavaScript, outside of the module's limits; a module that needs the host is not loaded.",
    names: ["regex.split", "sprintf", "yaml.is_valid", "yaml.marshal", "yaml.unmarshal"],
  },
  {
    why: "The WASM target leaves it to the host, and neither the SDK nor Signalbox has one.",
    names: [
      "base64url.encode_no_pad",
      "crypto.hmac.equal",
      "crypto.hmac.md5",
      "crypto.hmac.sha1",
      "crypto.hmac.sha256",
      "crypto.hmac.sha512",
      "crypto.md5",
      "crypto.parse_private_keys",
      "crypto.sha1",
      "crypto.sha256",
      "crypto.x509.parse_and_verify_certificates",
      "crypto.x509.parse_and_verify_certificates_with_options",
      "crypto.x509.parse_certificate_request",
      "crypto.x509.parse_certificates",
      "crypto.x509.parse_keypair",
      "crypto.x509.parse_rsa_private_key",
      "glob.quote_meta",
      "graph.reachable_paths",
      "graphql.is_valid",
      "graphql.parse",
      "graphql.parse_and_verify",
      "graphql.parse_query",
      "graphql.parse_schema",
      "graphql.schema_is_valid",
      "hex.decode",
      "hex.encode",
      "indexof_n",
      "io.jwt.decode",
      "io.jwt.verify_eddsa",
      "io.jwt.verify_es256",
      "io.jwt.verify_es384",
      "io.jwt.verify_es512",
      "io.jwt.verify_hs256",
      "io.jwt.verify_hs384",
      "io.jwt.verify_hs512",
      "io.jwt.verify_ps256",
      "io.jwt.verify_ps384",
      "io.jwt.verify_ps512",
      "io.jwt.verify_rs256",
      "io.jwt.verify_rs384",
      "io.jwt.verify_rs512",
      "json.marshal_with_options",
      "json.patch",
      "net.cidr_contains_matches",
      "net.cidr_expand",
      "net.cidr_is_valid",
      "net.cidr_merge",
      "numbers.range_step",
      "object.subset",
      "providers.aws.sign_req",
      "regex.find_n",
      "regex.globs_match",
      "regex.replace",
      "regex.template_match",
      "rego.parse_module",
      "semver.compare",
      "semver.is_valid",
      "strings.any_prefix_match",
      "strings.any_suffix_match",
      "strings.count",
      "strings.render_template",
      "strings.split_n",
      "time.add_date",
      "time.clock",
      "time.date",
      "time.diff",
      "time.format",
      "time.parse_duration_ns",
      "time.parse_ns",
      "time.parse_rfc3339_ns",
      "time.weekday",
      "trace",
      "units.parse",
      "units.parse_bytes",
      "uri.is_valid",
      "uri.parse",
      "urlquery.decode",
      "urlquery.decode_object",
      "urlquery.encode",
      "urlquery.encode_object",
      "uuid.parse",
    ],
  },
  {
    why: 'The WASM target computes it, but it makes free text: this is what `$"…"` becomes.',
    names: ["internal.template_string"],
  },
  {
    why: "The WASM target computes it, but a few digits of input make it as expensive as one likes.",
    names: ["numbers.range"],
  },
  {
    why: "The compiler replaces the call by what METADATA says; a decision must not depend on a comment.",
    names: ["rego.metadata.chain", "rego.metadata.rule"],
  },
  {
    why: "Deprecated; Rego version 1 refuses it.",
    names: [
      "all",
      "any",
      "cast_array",
      "cast_boolean",
      "cast_null",
      "cast_object",
      "cast_set",
      "cast_string",
      "net.cidr_overlap",
      "re_match",
      "set_diff",
    ],
  },
  {
    why: "For test programs: OPA's test runner puts the first into test rules, OPA's own test suite registers the second.",
    names: ["internal.test_case", "test.sleep"],
  },
];

const REFUSED: ReadonlySet<string> = new Set(REFUSED_GROUPS.flatMap(({ names }) => names));

/**
 * A template string opens after a blank or a bracket; a `$` before a closing quote follows a
 * letter.
 */
const TEMPLATE_STRING = /(?:^|[\s([{,:=])\$["`]/;

/**
 * The built-in of the table that a failure is about; `null` where the failure is about something
 * else.
 */
export function refusedBuiltin(failure: Failure, modules: BuildRequest["modules"]): string | null {
  const name = nameIn(failure, modules.find(({ path }) => path === failure.file)?.text ?? "");
  return name !== undefined && REFUSED.has(name) ? name : null;
}

function nameIn({ code, message, row, col }: Failure, text: string): string | undefined {
  if (code === "rego_parse_error")
    return TEMPLATE_STRING.test(text) ? "internal.template_string" : undefined;
  // `with http.send as …`: the message does not name the target, its position does.
  if (message.startsWith("with keyword target must reference")) {
    return /^[\w.]+/.exec(text.split("\n")[row - 1]?.slice(col - 1) ?? "")?.[0];
  }
  return /^undefined function (\S+)$/.exec(message)?.[1];
}

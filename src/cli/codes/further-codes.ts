/** A finding that neither reading a file nor compiling it makes. */
export interface FurtherCode {
  readonly severity: "error" | "warning";
  readonly meaning: string;
  readonly example: readonly string[];
  readonly fix: string;
}

const error = (meaning: string, example: readonly string[], fix: string): FurtherCode => ({
  severity: "error",
  meaning,
  example,
  fix,
});

/** What a start, and a reload, finds besides: secrets are no part of the files. */
export const START_CODES: Readonly<Record<string, FurtherCode>> = {
  SECRET_NOT_SET: error(
    "The secret of a provider is not set, and its row does not say that the provider may do without.",
    ["auth: { bearer: { env: OPENAI_API_KEY } }", "# and OPENAI_API_KEY is not set where signalbox serve runs"],
    "Set it, or write `on_missing_secret: disable` (leave the provider out) or `simulate` (the simulated upstream answers).",
  ),
  SECRET_UNUSABLE: error(
    "The secret of a provider is set and has characters that an HTTP header cannot carry.",
    ["auth: { bearer: { file: /run/secrets/openai } }", "# and the file holds two lines"],
    "Look for line breaks or quotation marks around the secret.",
  ),
};

/** What `signalbox policy test` finds. */
export const TEST_CODES: Readonly<Record<string, FurtherCode>> = {
  POLICY_TEST_FAILED: error(
    "A test of a policy failed.",
    ['test_others_are_denied if not policy.pass.gate with input as {"workspace": {"tier": "standard"}}'],
    "Look at what the test printed; correct the policy, or the test if its expectation is wrong.",
  ),
  POLICY_TEST_ERROR: error(
    "A test of a policy ended with an error: two rules gave one name two values, or a built-in refused its arguments.",
    ["two := 1 if true", "two := 2 if true"],
    "Correct the named line.",
  ),
  POLICY_NOT_TESTED: error(
    "`policy test --strict`: a policy has no test.",
    ["policies/gate.rego without policies/gate_test.rego"],
    "Write `<id>_test.rego`; `signalbox policy new` shows one.",
  ),
  CONSTRAINT_NEVER_SEEN_PASSING: error(
    "`policy test --strict`: no test sees the constraint pass.",
    ["Tests that only expect denials."],
    "Write a test in which it passes.",
  ),
  CONSTRAINT_NEVER_SEEN_FAILING: error(
    "`policy test --strict`: no test sees the constraint fail, so it may never fail.",
    ["Tests that only expect what is allowed."],
    "Write a test in which it fails.",
  ),
  REASON_NEVER_SEEN: error(
    "`policy test --strict`: no test sees one of the constraint's reasons.",
    ["reasons: [NOT_ALLOWED, ALSO_NOT_ALLOWED] with one test of a denial"],
    "Write a test that is denied for it, or remove the reason.",
  ),
  COVERAGE_BELOW_THRESHOLD: error(
    "`policy test`: the tests cover a smaller part of the policy than `--threshold` requires.",
    ["signalbox policy test --strict, and a rule that no test reaches"],
    "Write tests for the lines that the report shows.",
  ),
};

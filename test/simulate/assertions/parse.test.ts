import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ASSERTION_CODES } from "../../../src/simulate/assertions/codes.ts";
import { ASSERTIONS_SCHEMA } from "../../../src/simulate/assertions/schema.ts";
import { CONTRACT, fileWith, parse, SIDE, TABLE, tableWith } from "./samples.ts";
import { codePoint } from "../../support/code-point.ts";

/** `CODE line:column message (hint)` of every finding. */
function findings(text: string, base = SIDE, head = SIDE): readonly string[] {
  const { assertions, diagnostics } = parse(text, base, head);
  expect(assertions === null).toBe(diagnostics.length > 0);
  return diagnostics.map(
    ({ code, line, column, message, hint }) =>
      `${code} ${line}:${column} ${message}${hint === "" ? "" : ` (${hint})`}`,
  );
}

const rows: readonly (readonly [string, string, readonly string[]])[] = [
  // The shape of the file.
  [
    "empty",
    "",
    [
      "WRONG_TYPE 1:1 the file is empty (start with `version: 1`; the file of the same name in the repository is an example)",
    ],
  ],
  ["a list", "[]", ["WRONG_TYPE 1:1 the file must be a mapping, not a list"]],
  [
    "version only",
    "version: 1",
    ["MISSING_KEY 1:1 the file lacks `assertions` (it says: what is unacceptable, one row each)"],
  ],
  [
    "version 2",
    "version: 2\nassertions: []",
    [
      "VERSION_UNSUPPORTED 1:10 `version` must be 1 (write `version: 1`, or use the release that supports this version)",
    ],
  ],
  [
    "an unknown section",
    "version: 1\nassertion: []\nassertions: []",
    ["UNKNOWN_KEY 2:1 the file has no key `assertion` (did you mean `assertions`?)"],
  ],
  [
    "assertions of a mapping",
    "version: 1\nassertions: {}",
    ["WRONG_TYPE 2:13 assertions must be a list, not a mapping"],
  ],
  [
    "a row that is text",
    "version: 1\nassertions: [no_new_access]",
    ["WRONG_TYPE 2:14 assertions[0] must be a mapping, not text"],
  ],
  // The shape of a row.
  [
    "an unknown kind",
    fileWith("kind: no_new_acess"),
    [
      "WRONG_VALUE 5:11 assertions[0].kind cannot be `no_new_acess` (did you mean `no_new_access`?)",
    ],
  ],
  [
    "a kind that is a number",
    fileWith("kind: 5"),
    [
      "WRONG_VALUE 5:11 assertions[0].kind cannot be `5` (known here: `access_not_granted`, `always_routable`, `cases`, `equivalent`, `implies`, `no_new_access`)",
    ],
  ],
  [
    "no kind",
    fileWith("for: { stream: true }"),
    [
      "MISSING_KEY 3:5 assertions[0] lacks `kind` (it says: kind of the assertion; it determines the other keys)",
    ],
  ],
  [
    "a key of another kind",
    fileWith("kind: no_new_access\nmin_endpoints: 2"),
    [
      "UNKNOWN_KEY 6:5 assertions[0] has no key `min_endpoints` (known here: `except`, `for`, `id`, `kind`, `may_be_empty`, `title`, `to`, `view`, `waiver`)",
    ],
  ],
  [
    "the key that `view` replaced",
    fileWith("kind: equivalent\nstandpoint: declared"),
    [
      "UNKNOWN_KEY 6:5 assertions[0] has no key `standpoint` (known here: `except`, `for`, `id`, `ignoring`, `kind`, `may_be_empty`, `title`, `view`, `waiver`)",
    ],
  ],
  [
    "no demand",
    fileWith("kind: access_not_granted"),
    ["MISSING_KEY 3:5 assertions[0] lacks `to` (it says: endpoints that must not be reached)"],
  ],
  [
    "an id in capitals",
    "version: 1\nassertions: [{ kind: equivalent, id: Same, title: T }]",
    [
      "WRONG_VALUE 2:38 assertions[0].id must be kebab-case of at most 63 characters, such as `no-new-access`",
    ],
  ],
  [
    "two equal ids",
    "version: 1\nassertions:\n  - { kind: equivalent, id: same, title: T }\n  - { kind: equivalent, id: same, title: T }",
    ["DUPLICATE_ID 4:29 another assertion has the id `same` (choose another id)"],
  ],
  [
    "a title of two lines",
    'version: 1\nassertions: [{ kind: equivalent, id: a, title: "a\\nb" }]',
    ["WRONG_VALUE 2:48 assertions[0].title must be one line of at most 200 characters"],
  ],
  [
    "another view",
    fileWith("kind: equivalent\nview: all"),
    [
      "WRONG_VALUE 6:11 assertions[0].view cannot be `all` (known here: `both`, `declared`, `promoted`)",
    ],
  ],
  [
    "an empty selector",
    fileWith("kind: equivalent\nfor: {}"),
    ["WRONG_VALUE 6:5 assertions[0].for is empty (give at least one member, or remove the key)"],
  ],
  [
    "an unknown selector",
    fileWith("kind: equivalent\nfor: { workspace: [demo] }"),
    ["UNKNOWN_KEY 6:12 assertions[0].for has no key `workspace` (did you mean `workspaces`?)"],
  ],
  [
    "an empty list",
    fileWith("kind: equivalent\nfor: { workspaces: [] }"),
    ["WRONG_VALUE 6:24 assertions[0].for.workspaces must have at least one item"],
  ],
  [
    "a value twice",
    fileWith("kind: equivalent\nfor: { workspaces: [demo, demo] }"),
    ["DUPLICATE_ITEM 6:31 assertions[0].for.workspaces names `demo` twice (remove one of them)"],
  ],
  [
    "a value that is no list",
    fileWith("kind: equivalent\nfor: { needs: tools }"),
    ["WRONG_TYPE 6:19 assertions[0].for.needs must be a list, not text"],
  ],
  [
    "an unknown condition of a set",
    fileWith("kind: equivalent\nfor: { needs: { some: [tools] } }"),
    [
      "UNKNOWN_KEY 6:21 assertions[0].for.needs has no key `some` (known here: `all`, `any`, `none`, `only`)",
    ],
  ],
  [
    "an unknown capability",
    fileWith("kind: equivalent\nfor: { needs: { only: [tool] } }"),
    ["WRONG_VALUE 6:28 assertions[0].for.needs.only[0] cannot be `tool` (did you mean `tools`?)"],
  ],
  [
    "an unknown feature",
    fileWith("kind: equivalent\nfor: { features: [seeds] }"),
    ["WRONG_VALUE 6:23 assertions[0].for.features[0] cannot be `seeds` (did you mean `seed`?)"],
  ],
  [
    "an unknown operation",
    fileWith("kind: equivalent\nfor: { operations: [chat] }"),
    [
      "WRONG_VALUE 6:25 assertions[0].for.operations[0] cannot be `chat` (known here: `chat.completions`, `completions`, `embeddings`, `messages`, `messages.count_tokens`, `moderations`, `rerank`, `responses`)",
    ],
  ],
  [
    "a flag that is text",
    fileWith("kind: equivalent\nfor: { stream: yes }"),
    ["WRONG_TYPE 6:20 assertions[0].for.stream must be true or false, not text"],
  ],
  [
    "an unknown retention",
    fileWith("kind: access_not_granted\nto: { retention: [days_60] }"),
    [
      "WRONG_VALUE 6:23 assertions[0].to.retention[0] cannot be `days_60` (did you mean `days_30`?)",
    ],
  ],
  [
    "no endpoints at all",
    fileWith("kind: always_routable\nmin_endpoints: 0"),
    ["WRONG_VALUE 6:20 assertions[0].min_endpoints must be at least 1"],
  ],
  [
    "an unknown change",
    fileWith("kind: equivalent\nignoring: [reasons_changed]"),
    [
      "WRONG_VALUE 6:16 assertions[0].ignoring[0] cannot be `reasons_changed` (did you mean `reason_changed`?)",
    ],
  ],
  [
    "no cases",
    fileWith("kind: cases\ncases: []"),
    ["WRONG_VALUE 6:12 assertions[0].cases must have at least one item"],
  ],
  [
    "a waiver without an owner",
    fileWith("kind: equivalent\nwaiver: { until: 2026-12-31, reason: R }"),
    [
      "MISSING_KEY 6:5 assertions[0].waiver lacks `owner` (it says: who is responsible for ending it)",
    ],
  ],
  [
    "a waiver without a form",
    fileWith("kind: equivalent\nwaiver: { until: tomorrow, reason: R, owner: O }"),
    ["WRONG_VALUE 6:22 assertions[0].waiver.until must be a date such as `2026-12-31`"],
  ],
  [
    "a day that there is not",
    fileWith("kind: equivalent\nwaiver: { until: 2026-02-29, reason: R, owner: O }"),
    ["ASSERTION_DATE_INVALID 6:22 waiver.until is not a date that exists (such as `2026-12-31`)"],
  ],
  [
    "a month that there is not",
    fileWith("kind: equivalent\nwaiver: { until: 2026-13-01, reason: R, owner: O }"),
    ["ASSERTION_DATE_INVALID 6:22 waiver.until is not a date that exists (such as `2026-12-31`)"],
  ],
  [
    "a share above 100",
    "version: 1\nassertions: []\ncoverage: { routes: 101 }",
    ["WRONG_VALUE 3:21 coverage.routes must be at most 100"],
  ],
  [
    "an unknown measure",
    "version: 1\nassertions: []\ncoverage: { route: 1 }",
    ["UNKNOWN_KEY 3:13 coverage has no key `route` (did you mean `routes`?)"],
  ],
  // Names.
  [
    "an unknown workspace",
    fileWith("kind: no_new_access\nfor: { workspaces: [demo, acme-prd] }"),
    ["ASSERTION_UNKNOWN_WORD 6:31 there is no workspace `acme-prd` (did you mean `acme-prod`?)"],
  ],
  [
    "an unknown tier",
    fileWith("kind: no_new_access\nexcept: { tiers: [regulatd] }"),
    ["ASSERTION_UNKNOWN_WORD 6:23 there is no tier `regulatd` (did you mean `regulated`?)"],
  ],
  [
    "an unknown label",
    fileWith("kind: no_new_access\nfor: { labels: { none: [eur] } }"),
    ["ASSERTION_UNKNOWN_WORD 6:29 there is no workspace label `eur` (did you mean `eu`?)"],
  ],
  [
    "an unknown key label",
    fileWith("kind: no_new_access\nfor: { key_labels: { all: [e] } }"),
    ["ASSERTION_UNKNOWN_WORD 6:32 there is no key label `e` (did you mean `eu`?)"],
  ],
  [
    "an unknown environment",
    fileWith("kind: no_new_access\nfor: { environments: [other, prodution] }"),
    [
      "ASSERTION_UNKNOWN_WORD 6:34 there is no environment `prodution` (did you mean `production`?)",
    ],
  ],
  [
    "an unknown signature family",
    fileWith("kind: no_new_access\nfor: { signature_families: [open] }"),
    [
      "ASSERTION_UNKNOWN_WORD 6:33 there is no signature family `open` (known here: `anthropic`, `none`, `openai`)",
    ],
  ],
  [
    "an unknown vector length",
    fileWith("kind: no_new_access\nfor: { dimensions: [0, 513] }"),
    ["ASSERTION_UNKNOWN_WORD 6:28 there is no vector length `513` (did you mean `512`?)"],
  ],
  [
    "an unknown route",
    fileWith("kind: no_new_access\nfor: { routes: [chat-larg] }"),
    ["ASSERTION_UNKNOWN_WORD 6:21 there is no route `chat-larg` (did you mean `chat-large`?)"],
  ],
  [
    "an unknown region",
    fileWith("kind: access_not_granted\nto: { regions: [eu-wst] }"),
    ["ASSERTION_UNKNOWN_WORD 6:21 there is no region `eu-wst` (did you mean `eu-west`?)"],
  ],
  [
    "an unknown provider",
    fileWith("kind: access_not_granted\nto: { providers: [openai-as] }"),
    ["ASSERTION_UNKNOWN_WORD 6:23 there is no provider `openai-as` (did you mean `openai-us`?)"],
  ],
  [
    "an unknown model and endpoint",
    fileWith("kind: access_not_granted\nto: { models: [gpt-6], endpoints: [gpt-5-u] }"),
    [
      "ASSERTION_UNKNOWN_WORD 6:20 there is no model `gpt-6` (did you mean `gpt-5`?)",
      "ASSERTION_UNKNOWN_WORD 6:40 there is no endpoint `gpt-5-u` (did you mean `gpt-5-eu`?)",
    ],
  ],
  [
    "names of prototypes",
    fileWith("kind: no_new_access\nfor: { workspaces: [constructor], routes: [toString] }"),
    [
      "ASSERTION_UNKNOWN_WORD 6:25 there is no workspace `constructor` (known here: `acme-dev`, `acme-prod`, `demo`)",
      expect.stringMatching(/^ASSERTION_UNKNOWN_WORD 6:48 there is no route `toString`/),
    ],
  ],
  [
    "an unknown name in if and then",
    fileWith(
      "kind: implies\nif: { reaches: { models: [gpt] } }\nthen: { every_endpoint: { regions: [a] }, some_endpoint: { regions: [b] }, primary: { regions: [c] } }",
    ),
    [
      expect.stringMatching(/^ASSERTION_UNKNOWN_WORD 6:31 there is no model/),
      expect.stringMatching(/7:41/),
      expect.stringMatching(/7:74/),
      expect.stringMatching(/7:101/),
    ],
  ],
  [
    "an unknown policy",
    fileWith("kind: implies\nif: { denied_by: { policy: eu-residence } }\nthen: { outcome: deny }"),
    [
      "ASSERTION_UNKNOWN_WORD 6:32 there is no policy `eu-residence` (did you mean `eu-residency`?)",
    ],
  ],
  [
    "an unknown constraint",
    fileWith(
      "kind: implies\nif: { outcome: deny }\nthen: { denied_by: { policy: eu-residency, constraint: in_eu } }",
    ),
    ["ASSERTION_UNKNOWN_WORD 7:60 there is no constraint `in_eu` (known here: `processed_in_eu`)"],
  ],
  [
    "an unknown reason of a policy",
    fileWith(
      "kind: implies\nif: { outcome: deny }\nthen: { denied_by: { policy: eu-residency, reason: model_not_found } }",
    ),
    [
      "ASSERTION_UNKNOWN_WORD 7:56 there is no reason `model_not_found` (known here: `EU_UNKNOWN`, `EVALUATION_INDETERMINATE`, `NO_CANDIDATE_PASSES`, `POLICY_TIMEOUT`, `REGION_NOT_IN_EU`)",
    ],
  ],
  [
    "an unknown reason of the table",
    fileWith(
      "kind: implies\nif: { denied_by: { policy: approvals, reason: model_not_fund } }\nthen: { outcome: deny }",
    ),
    [
      "ASSERTION_UNKNOWN_WORD 6:51 there is no reason `model_not_fund` (did you mean `model_not_found`?)",
    ],
  ],
  [
    "unknown names of a case",
    fileWith(
      "kind: cases\ncases:\n  - request: { workspace: dmo, model: chat, operation: responses, only: [x], region: [y], key_labels: [z] }\n    expect: { plan: [gpt], lacks: [q] }",
    ),
    [
      expect.stringMatching(/7:31 there is no workspace `dmo`/),
      expect.stringMatching(/7:43 there is no route `chat`/),
      expect.stringMatching(/7:78 there is no provider `x`/),
      expect.stringMatching(/7:91 there is no region `y`/),
      expect.stringMatching(/7:108 there is no key label `z`/),
      expect.stringMatching(/8:26 there is no endpoint `gpt`/),
      expect.stringMatching(/8:40 there is no endpoint `q`/),
    ],
  ],
  [
    "unknown subjects of coverage",
    "version: 1\nassertions: []\ncoverage: { except: [chat-larg, chat-large -> gpt-5-us, eu-residency/processed, eu-residency/processed_in_eu] }",
    [
      "ASSERTION_UNKNOWN_WORD 3:22 there is no subject of coverage `chat-larg` (did you mean `chat-large`?)",
      "ASSERTION_UNKNOWN_WORD 3:33 there is no subject of coverage `chat-large → gpt-5-us` (did you mean `chat-large → gpt-5-eu`?)",
      expect.stringMatching(/^ASSERTION_UNKNOWN_WORD 3:57/),
    ],
  ],
  // Demands that nothing can meet.
  [
    "a case without a model",
    fileWith(
      "kind: cases\ncases: [{ request: { workspace: demo, operation: responses }, expect: { outcome: deny } }]",
    ),
    ["MISSING_KEY 6:15 request lacks `model`, which only moderations may leave out (name a route)"],
  ],
  ...[
    "{ outcome: deny, plan: [gpt-5-us] }",
    "{ outcome: deny, primary: gpt-5-us }",
    "{ denied_by: { policy: approvals }, contains: [gpt-5-us] }",
    "{ outcome: route, denied_by: { policy: approvals } }",
    "{ outcome: route, plan: [] }",
    "{ plan: [gpt-5-us, gpt-5-eu], primary: gpt-5-eu }",
    "{ plan: [gpt-5-us], contains: [gpt-5-eu] }",
    "{ plan: [gpt-5-us], lacks: [gpt-5-us] }",
    "{ primary: gpt-5-us, lacks: [gpt-5-us] }",
  ].map((expectation): readonly [string, string, readonly string[]] => [
    expectation,
    fileWith(
      `kind: cases\ncases:\n  - request: { workspace: demo, model: chat-large, operation: responses }\n    expect: ${expectation}`,
    ),
    [
      "ASSERTION_CONTRADICTION 8:9 no decision can meet both conditions (a denial has no endpoints, and a routed request has no denial)",
    ],
  ]),
  ...[
    ["if: { outcome: deny, reaches: { models: [gpt-5] } }\nthen: { outcome: deny }", "6:5"],
    ["if: { outcome: route, denied_by: { policy: approvals } }\nthen: { outcome: deny }", "6:5"],
    ["if: { outcome: deny }\nthen: { outcome: deny, primary: { models: [gpt-5] } }", "7:5"],
    [
      "if: { outcome: deny }\nthen: { denied_by: { policy: approvals }, some_endpoint: { models: [gpt-5] } }",
      "7:5",
    ],
    ["if: { outcome: deny }\nthen: { denied_by: { policy: approvals }, outcome: route }", "7:5"],
  ].map(([lines = "", at = ""]): readonly [string, string, readonly string[]] => [
    lines,
    fileWith(`kind: implies\n${lines}`),
    [expect.stringMatching(new RegExp(`^ASSERTION_CONTRADICTION ${at} `))],
  ]),
  // YAML that means mischief.
  [
    "a duplicate key",
    fileWith("kind: equivalent\nkind: equivalent"),
    ["YAML_DUPLICATE_KEY 6:5 this key is in the same mapping twice (keep one of them)"],
  ],
  [
    "a duplicate selector",
    fileWith("kind: equivalent\nfor: { tiers: [regulated], tiers: [standard] }"),
    ["YAML_DUPLICATE_KEY 6:32 this key is in the same mapping twice (keep one of them)"],
  ],
  [
    "a merge key",
    fileWith("kind: equivalent\n<<: { may_be_empty: true }"),
    [
      "YAML_MERGE_KEY 6:5 merge keys (`<<`) are not read (write the members out, or use an alias for a whole value)",
    ],
  ],
  [
    "a tag",
    fileWith("kind: !!js/function equivalent"),
    ["YAML_TAG 5:11 the tag names a type that this file does not use (remove the tag)"],
  ],
  [
    "two documents",
    `${fileWith("kind: equivalent")}---\nversion: 1\n`,
    [
      "YAML_MULTIPLE_DOCUMENTS 6:1 a second YAML document begins here (remove the `---` and merge both)",
    ],
  ],
  [
    "a reserved name",
    fileWith("kind: equivalent\n__proto__: { may_be_empty: true }"),
    ["RESERVED_NAME 6:5 `__proto__` is a reserved name (choose another name)"],
  ],
  [
    "an alias of nothing",
    fileWith("kind: equivalent\nfor: *nothing"),
    [expect.stringMatching(/^YAML_ALIAS 6:10/)],
  ],
  ["a list as key", fileWith("kind: equivalent\n? [a]\n: b"), [expect.stringMatching(/^YAML_KEY/)]],
  ["an open bracket", "version: 1\nassertions: [", [expect.stringMatching(/^YAML_SYNTAX/)]],
  [
    "a credential",
    fileWith(
      "kind: equivalent\nwaiver: { until: 2026-12-31, reason: sk-abcdefghijklmnopqrstuvwx, owner: O }",
    ),
    [
      "LITERAL_SECRET 6:42 assertions[0].waiver.reason contains a literal credential, or a value that looks like one (revoke it if it was committed, then refer to it: `{env: NAME}` or `{file: path}`)",
    ],
  ],
];

describe("findings of an assertions file", () => {
  test.for(rows)("%s", ([, text, expected]) => {
    expect(findings(text)).toEqual(expected);
  });

  test("every code but those of file reading and of the largest text has a row above", () => {
    const seen = new Set<string>(
      rows.flatMap(([, text]) => parse(text).diagnostics.map(({ code }) => code)),
    );
    expect(Object.keys(ASSERTION_CODES).filter((code) => !seen.has(code))).toEqual([
      "SOURCE_UNREADABLE",
      "SOURCE_TOO_LARGE",
      "ASSERTION_WORD_GONE",
    ]);
  });

  test("a file too large, too deep or too wide through aliases ends with one finding", () => {
    const laughs = Array.from(
      { length: 9 },
      (_, index) => `x${index + 1}: &x${index + 1} [${Array(10).fill(`*x${index}`).join(", ")}]`,
    );
    const deep = `version: 1\nassertions: ${"[".repeat(100)}${"]".repeat(100)}`;
    for (const [text, code] of [
      [`version: 1\nassertions: [] #${"x".repeat(1_048_576)}`, "SOURCE_TOO_LARGE"],
      [`version: 1\nx0: &x0 [a]\n${laughs.join("\n")}\nassertions: []\n`, "YAML_ALIAS"],
      [deep, "YAML_ALIAS"],
    ] as const) {
      expect(parse(text).diagnostics.map((diagnostic) => diagnostic.code)).toEqual([code]);
    }
  });

  test("one run reports everything: invalid rows do not hide the names of the others", () => {
    const text = `version: 1
assertions:
  - { kind: equivalent, id: first, title: T, fro: { stream: true } }
  - { kind: equivalent, id: second, title: T, for: { workspaces: [dem] } }
  - { kind: equivalent, id: second, title: T }
coverage: { routes: 200 }
`;
    expect(findings(text).map((finding) => finding.split(" ").slice(0, 2).join(" "))).toEqual([
      "UNKNOWN_KEY 3:46",
      "ASSERTION_UNKNOWN_WORD 4:67",
      "DUPLICATE_ID 5:29",
      "WRONG_VALUE 6:21",
    ]);
  });

  test("aliases, byte order marks and line ends of other systems are read", () => {
    const text = fileWith("kind: no_new_access\nfor: &who { tiers: [regulated] }\nexcept: *who");
    const plain = parse(text);
    expect(plain.assertions?.assertions[0]).toMatchObject({
      for: { tiers: ["regulated"] },
      except: { tiers: ["regulated"] },
      location: { file: "policies/assertions.yaml", line: 3, column: 5 },
    });
    expect(parse(`\uFEFF${text.replaceAll("\n", "\r\n")}`)).toEqual(plain);
  });

  test("never throw, for any text, and an error yields no assertions", () => {
    const whole = readFileSync(
      new URL("../../../policies/assertions.yaml", import.meta.url),
      "utf8",
    );
    const damaged = fc
      .tuple(
        fc.nat({ max: whole.length }),
        fc.nat({ max: 12 }),
        fc.string({ unit: codePoint, maxLength: 6 }),
      )
      .map(([at, length, text]) => whole.slice(0, at) + text + whole.slice(at + length));
    fc.assert(
      fc.property(fc.oneof(damaged, fc.string({ unit: codePoint })), (text) => {
        expect(findings(text)).toBeInstanceOf(Array);
      }),
      { numRuns: 150 },
    );
  });
});

describe("names of one side", () => {
  const head = {
    table: tableWith(
      ["  rerank:\n    title: Documents by relevance\n    primary: rerank-global\n\n", ""],
      ["          rerank,\n", ""],
    ),
    contracts: [CONTRACT],
  };
  const gone =
    "ASSERTION_WORD_GONE 6:21 head has no route `rerank` (remove it: `rerank` is in base only)";

  test.for([
    ["no_new_access", "", []],
    ["equivalent", "", []],
    ["always_routable", "", [gone]],
    ["access_not_granted", "\nto: { regions: [us] }", [gone]],
    ["implies", "\nif: { outcome: deny }\nthen: { outcome: deny }", [gone]],
  ] as const)(
    "that only base has are judged by the kind of the assertion: %s",
    ([kind, rest, expected]) => {
      expect(
        findings(fileWith(`kind: ${kind}\nfor: { routes: [rerank] }${rest}`), SIDE, head),
      ).toEqual(expected);
    },
  );

  test("that head has are always known", () => {
    for (const kind of ["no_new_access", "always_routable"]) {
      expect(findings(fileWith(`kind: ${kind}\nfor: { routes: [rerank] }`), head, SIDE)).toEqual(
        [],
      );
    }
  });

  test("names of policies are not checked where the policies are unknown", () => {
    const side = { table: TABLE, contracts: null };
    const text = fileWith(
      "kind: implies\nif: { denied_by: { policy: whatever, reason: R } }\nthen: { outcome: deny }",
    );
    expect(findings(`${text}coverage: { except: [whatever/constraint] }\n`, side, side)).toEqual(
      [],
    );
    expect(findings(text)).toHaveLength(1);
  });
});

describe("the schema", () => {
  // When this fails: `npm run generate`.
  test("schemas/assertions.schema.json is the schema of the check", () => {
    const file = readFileSync(
      new URL("../../../schemas/assertions.schema.json", import.meta.url),
      "utf8",
    );
    expect(JSON.parse(file)).toEqual(JSON.parse(JSON.stringify(ASSERTIONS_SCHEMA)));
  });

  test("every key has a description", () => {
    const silent: string[] = [];
    const visit = (value: unknown, path: string): void => {
      if (typeof value !== "object" || value === null) return;
      for (const [name, member] of Object.entries(value)) visit(member, `${path}/${name}`);
      if (
        !("properties" in value) ||
        typeof value.properties !== "object" ||
        value.properties === null
      )
        return;
      for (const [name, property] of Object.entries(value.properties)) {
        if (!("description" in property) || property.description === "")
          silent.push(`${path}/${name}`);
      }
    };
    visit(ASSERTIONS_SCHEMA, "");
    expect(silent).toEqual([]);
  });
});

import { FEATURES } from "../../src/canon/capability.ts";
import { ROUTE_CODES } from "../../src/compile/findings/codes.ts";
import type { DialectFacts } from "../../src/dialects/dialect.ts";
import { POLICY_CODES } from "../../src/policy/codes.ts";
import { ASSERTION_CODES } from "../../src/simulate/assertions/codes.ts";
import { FILES } from "./several-files.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * `docs/diagnostics.md`: every code of routes.yaml, policies and assertions with its meaning and
 * fix.
 */
export function diagnosticsReference(): string {
  const rows = (codes: typeof ROUTE_CODES | typeof POLICY_CODES) =>
    Object.entries(codes).map(([code, { severity, meaning, fix }]) => [
      `\`${code}\``,
      severity,
      meaning,
      fix,
    ]);
  const head = ["Code", "Severity", "Meaning", "What to do"];
  const own = Object.entries(ASSERTION_CODES).filter(([code]) => !Object.hasOwn(ROUTE_CODES, code));
  return `# Findings of signalbox check

Written by \`npm run generate\` from \`src/compile/findings/codes.ts\`, \`src/policy/codes.ts\` and \`src/simulate/assertions/codes.ts\`; do not edit.
\`signalbox check --explain CODE\` explains each code with an example. Codes are not renamed.

\`signalbox check\` and every start report all findings at once, sorted by file and line.
An error prevents the use of the files: a start ends, a reload keeps the old table and policies.
A warning does not; with \`--strict\` it fails a check.

## routes.yaml

A fallback or peer can lack what the primary has:

- Under \`on_gap: deny\` a provider or region that is not approved is an error, because every request is denied.
  A missing capability or signature family is a warning, because only requests that need it are denied.
- Under \`on_gap: narrow\` neither is reported: decisions exclude such endpoints and record it.
- A primary that is not approved is an error under both.

Rows that nothing uses are reported only for files without errors, so one misspelt name is one finding.

${table(head, rows(ROUTE_CODES))}

## Policies

[Policies](policies.md) has the contract, and [traps](writing-a-policy.md#traps) what no finding reports.

${table(head, rows(POLICY_CODES))}

## Assertions

[Assertions](assertions.md) lists all keys. All findings are errors. Codes of routes.yaml that are about the text or
the keys of a file mean the same here; \`signalbox check --explain CODE\` has both.

${table(
  ["Code", "Meaning", "What to do"],
  own.map(([code, { meaning, fix }]) => [`\`${code}\``, meaning, fix]),
)}
`;
}

/** `docs/configuration.md`: every key of routes.yaml, from the schema that the compiler checks. */
export function configurationReference(
  schema: Json,
  dialects: Readonly<Record<string, DialectFacts>>,
): string {
  const sections: string[] = [];
  describe(schema, "routes.yaml", schema, sections);
  return `# routes.yaml

Written by \`npm run generate\` from \`src/compile/routes-schema.ts\`; do not edit. Editors read the same from
\`routes.schema.json\`: begin the file with \`# yaml-language-server: $schema=./routes.schema.json\`.

The file is YAML 1.2. Anchors and aliases are allowed; merge keys (\`<<\`), tags, a second document and names such as
\`constructor\` are refused. Unknown keys are errors, at any depth. The order of rows and lists has no meaning, except in
\`fallbacks\`, and in \`peers\` under \`balance: order\`. [Findings](diagnostics.md) explains each code of \`signalbox check\`.

Credentials are never in the file: \`secret\` and \`bearer\` take \`{env: NAME}\` or \`{file: path}\`, and a literal value is
an error.

\`aws_sigv4\` and \`google_oauth\` make credentials per call:

- Keys and tokens are held in memory, and renewed four minutes before they end, by one request for all waiting calls.
- A call waits at most \`timeouts.connect\` for them. If there are none, the attempt fails as \`auth\` and the next endpoint is tried.
- At start, what is visible without the network (variables, files, the profile) decides about \`on_missing_secret\`.
  \`signalbox check\` reads none of it.
- Microsoft Entra ID has no form of its own: use \`{header: api-key, secret: …}\`, or \`bearer\` with a token that another
  program renews in a file. The file is read at start and at every reload.

${FILES}

${sections.join("\n\n")}

## Dialects

${table(["Dialect", "Operations", "Capabilities that it carries"], Object.entries(dialects).map(dialectRow))}

## Flags

How a provider deviates from its dialect, declared under \`flags\` of its row, for relayed and for translated requests.
What a flag takes away is refused by name before anything is sent. What it changes or omits is in the evidence.
[Providers](providers.md) has the rows of many vendors.

${table(["Dialect", "Flag", "Meaning", "Takes away", "Not together with"], Object.entries(dialects).flatMap(flagRows))}

## Features

What requests may require of a wire protocol in addition to the capabilities of a model. A request is refused by name if
an endpoint of its plan lacks a feature that it uses. \`refuses\` of a model takes features away; \`accepts\` adds those
marked \`if accepted\`.

${table(
  ["Feature", "A request uses it by", "Dialects"],
  Object.entries(FEATURES).map((feature) => featureRow(feature, dialects)),
)}
`;
}

function dialectRow([name, facts]: readonly [string, DialectFacts]): readonly string[] {
  return [`\`${name}\``, listed(facts.operations), listed(facts.expresses)];
}

function flagRows([dialect, { flags }]: readonly [
  string,
  DialectFacts,
]): readonly (readonly string[])[] {
  return Object.entries(flags).map(([flag, { meaning, withdraws = [], excludes = [] }]) => {
    const others = Object.keys(flags).filter(
      (other) => excludes.includes(other) || flags[other]?.excludes?.includes(flag),
    );
    return [`\`${dialect}\``, `\`${flag}\``, meaning, listed(withdraws), listed(others)];
  });
}

function listed(values: readonly string[]): string {
  return values.map((value) => `\`${value}\``).join(", ");
}

function featureRow(
  [name, meaning]: readonly [string, string],
  dialects: Readonly<Record<string, DialectFacts>>,
): readonly string[] {
  const carrying = Object.entries(dialects).flatMap(([dialect, { features, optional }]) => {
    if (features.some((feature) => feature === name)) return [`\`${dialect}\``];
    return optional.some((feature) => feature === name) ? [`\`${dialect}\` (if accepted)`] : [];
  });
  return [`\`${name}\``, meaning, carrying.join(", ")];
}

/** One heading for each mapping of the schema, its keys as a table, then the mappings inside it. */
function describe(schema: Json, title: string, root: Json, sections: string[]): void {
  const resolved = follow(schema, root);
  const properties = entriesOf(resolved.properties);
  const required = Array.isArray(resolved.required) ? resolved.required : [];
  const rows = properties.map(([name, property]) => {
    const necessity = required.includes(name) ? "required" : "optional";
    return [
      `\`${name}\``,
      typeOf(property, root),
      necessity,
      defaultOf(property, root),
      textOf(property, root),
    ];
  });
  sections.push(
    `## ${title}\n\n${say(resolved.description)}\n\n${table(["Key", "Value", "", "Default", "Meaning"], rows)}`,
  );
  for (const [name, property] of properties) {
    const inner = innerMapping(property, root);
    if (inner !== null)
      describe(
        inner.schema,
        title === "routes.yaml" ? name + inner.suffix : `${title}.${name}${inner.suffix}`,
        root,
        sections,
      );
  }
}

/**
 * The mapping below a key: itself, the rows of a mapping, the items of a list, or the object of a
 * choice.
 */
function innerMapping(
  property: Json,
  root: Json,
): { readonly schema: Json; readonly suffix: string } | null {
  const resolved = follow(property, root);
  const choices: readonly (readonly [unknown, string])[] = [
    [resolved, ""],
    [resolved.additionalProperties, ".*"],
    [resolved.items, "[]"],
    [resolved.else, ""],
    [objectOf(resolved.items).then, "[]"],
  ];
  for (const [choice, suffix] of choices) {
    const schema = follow(objectOf(choice), root);
    if (schema.properties !== undefined) return { schema, suffix };
  }
  return null;
}

function follow(schema: Json, root: Json): Json {
  const reference = schema["$ref"];
  if (typeof reference !== "string") return schema;
  return { ...objectOf(objectOf(root["$defs"])[reference.replace("#/$defs/", "")]), ...schema };
}

function typeOf(property: Json, root: Json): string {
  const schema = follow(property, root);
  const values = schema.enum;
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(", ");
  if (schema.const !== undefined) return `\`${say(schema.const)}\``;
  if (schema.if !== undefined)
    return `${typeOf(objectOf(schema.then), root)}, or ${typeOf(objectOf(schema.else), root)}`;
  if (schema.type === "array") return `list of: ${typeOf(objectOf(schema.items), root)}`;
  if (schema.type === "object") return "mapping";
  if (typeof schema.patternErrorMessage === "string") return schema.patternErrorMessage;
  const bounds = [
    ["at least", schema.minimum],
    ["more than", schema.exclusiveMinimum],
    ["at most", schema.maximum],
  ].filter(([, bound]) => bound !== undefined);
  const kind =
    { integer: "whole number", boolean: "`true` or `false`", number: "number" }[
      String(schema.type)
    ] ?? "text";
  return [kind, ...bounds.map(([value, bound]) => `${String(value)} ${String(bound)}`)].join(", ");
}

function defaultOf(property: Json, root: Json): string {
  const value = follow(property, root).default;
  if (value === undefined) return "";
  return `\`${Array.isArray(value) ? `[${value.join(", ")}]` : say(value)}\``;
}

function textOf(property: Json, root: Json): string {
  return say(property.description ?? follow(property, root).description);
}

/** Padded as the formatter of the repository pads, so that generated files need no second pass. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const escaped = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = head.map((_, column) =>
    Math.max(3, ...escaped.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const [first = [], ...others] = escaped;
  return [line(first), line(widths.map((width) => "-".repeat(width))), ...others.map(line)].join(
    "\n",
  );
}

function entriesOf(value: unknown): readonly (readonly [string, Json])[] {
  return Object.entries(objectOf(value)).map(([name, member]) => [name, objectOf(member)]);
}

function objectOf(value: unknown): Json {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** A scalar of the schema as text; nothing for anything else. */
function say(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : "";
}

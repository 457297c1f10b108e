import { ANSWER_GROUPS, statusesOf } from "../../src/cli/codes/explained-codes.ts";

/**
 * `docs/troubleshooting.md`: every code of an answer of the API, from the tables that
 * `check --explain` reads.
 */
export function troubleshootingPage(): string {
  const groups = ANSWER_GROUPS.map(([title, codes]) => {
    const rows = Object.entries(codes).toSorted(([left], [right]) =>
      left < right ? -1 : left > right ? 1 : 0,
    );
    const sections = rows.map(
      ([code, { status, meaning, example, fix }]) =>
        `### ${code}\n\nStatus ${statusesOf(status)}. ${meaning}\n\n- For example: ${example}\n- What to do: ${fix}`,
    );
    return `## ${title}\n\n${sections.join("\n\n")}`;
  });
  return `# Troubleshooting by error code

Written from \`src/canon/*-errors.ts\` and \`src/cli/codes/\` (\`npm run generate\`); do not edit.
\`signalbox check --explain CODE\` prints the same in a terminal, and explains the findings of configuration, policies and assertions too.

- Every error has \`message\`, \`type\`, \`param\` and \`code\`, in the form of the caller's protocol. \`code\` is stable; the sentence is not.
- \`param\` names the member of the request.
- A denial by a policy has the policy's own reason as its code. \`signalbox explain\` with the same request shows the rule.
- An answer with \`x-should-retry: false\` (400, 402, 403, 404 and others) comes again for the same request.
  Others (429, 502, 503, 504) may succeed after \`retry-after\`.
- Sentences of providers are never passed on; their codes only if they are listed here.

${groups.join("\n\n")}
`;
}

import { useState } from "preact/hooks";
import { withQuery } from "../../api/client.ts";
import type { PolicyContent } from "../../api/types.ts";
import { useResource } from "../../api/use-resource.ts";
import { Loaded } from "../../components/panel.tsx";
import { Code } from "../../components/text.tsx";
import { printable } from "../../format/printable.ts";

/** The lines of a policy that a constraint is made of, fetched when they are opened. */
export function RuleText(props: {
  readonly policy: string;
  readonly constraint: string;
  /** `null`: the content that is enforced now. */
  readonly digest: string | null;
}) {
  const { policy, constraint, digest } = props;
  const [isOpen, setOpen] = useState(false);
  const path = withQuery(`/v1/policies/${encodeURIComponent(policy)}/content`, { digest: digest ?? "enforced" });
  const content = useResource<PolicyContent>(isOpen ? path : null);
  return (
    <details class="rule" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        The rule <Code of={`${policy}/${constraint}`} />
      </summary>
      {isOpen ? (
        <Loaded of={content} lines={3}>
          {({ sources }) => {
            const lines = sources.flatMap(({ source }) => ruleLines(source, constraint));
            return lines.length === 0 ? (
              <p class="hint">The text has no rule of this name; the policy’s page has all of it.</p>
            ) : (
              <pre role="region" aria-label={printable(`Rule ${constraint}`)} tabIndex={0}>
                {lines.map(({ number, text }) => (
                  <div key={number}>
                    <span class="mark">{number}</span>
                    <bdi>{text === "" ? " " : printable(text)}</bdi>
                  </div>
                ))}
              </pre>
            );
          }}
        </Loaded>
      ) : null}
    </details>
  );
}

/** Every rule `pass.<constraint>` of a module, from its head to its closing brace, with line numbers from 1. */
function ruleLines(source: string, constraint: string): readonly { readonly number: number; readonly text: string }[] {
  const found: { number: number; text: string }[] = [];
  let isInside = false;
  for (const [at, text] of source.split("\n").entries()) {
    const isHead = text.startsWith(`pass.${constraint}`) && !/^[\w]/.test(text.slice(`pass.${constraint}`.length));
    if (isHead || isInside) found.push({ number: at + 1, text });
    if (isHead) isInside = text.trimEnd().endsWith("{");
    else if (text.startsWith("}")) isInside = false;
  }
  return found;
}

import { useState } from "preact/hooks";
import { withQuery } from "../../api/client.ts";
import type { PolicyContent } from "../../api/types.ts";
import { useResource } from "../../api/use-resource.ts";
import { Loaded } from "../../components/panel.tsx";
import { Code } from "../../components/text.tsx";
import { printable } from "../../format/printable.ts";
import { ruleLines } from "./rule-lines.ts";

/**
 * The lines of a policy that a constraint is made of, with the file and the line where they are;
 * fetched when they are opened.
 */
export function RuleText(props: {
  readonly policy: string;
  readonly constraint: string;
  /** Which content of the policy; a digest of `null` is what is enforced now. */
  readonly content: { readonly digest: string | null } | { readonly revision: string };
  readonly open?: boolean;
}) {
  const { policy, constraint, content, open = false } = props;
  const [isOpen, setOpen] = useState(open);
  const named =
    "revision" in content
      ? { revision: content.revision }
      : { digest: content.digest ?? "enforced" };
  const path = withQuery(`/v1/policies/${encodeURIComponent(policy)}/content`, named);
  const resource = useResource<PolicyContent>(isOpen ? path : null);
  return (
    <details class="rule" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        The rule <Code of={`${policy}/${constraint}`} />
      </summary>
      {isOpen ? (
        <Loaded of={resource} lines={3}>
          {({ sources, revision }) => {
            // A constraint is a rule of the policy's own module; the others are libraries.
            const own = sources.find((each) =>
              each.package.endsWith(`.policy.${policy.replaceAll("-", "_")}`),
            );
            const lines = ruleLines(own?.source ?? "", constraint);
            const [first] = lines;
            if (first === undefined) {
              return (
                <p class="hint">
                  The text has no rule of this name; the policy’s page has all of it.
                </p>
              );
            }
            return (
              <>
                <p class="hint">
                  <Code of={`${policy}.rego:${first.number}`} />, {revision}
                </p>
                <pre role="region" aria-label={printable(`Rule ${constraint}`)} tabIndex={0}>
                  {lines.map(({ number, text }) => (
                    <div key={number}>
                      <span class="mark">{number}</span>
                      <bdi>{text === "" ? " " : printable(text)}</bdi>
                    </div>
                  ))}
                </pre>
              </>
            );
          }}
        </Loaded>
      ) : null}
    </details>
  );
}

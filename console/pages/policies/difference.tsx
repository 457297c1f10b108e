import { diffLines } from "diff";
import { withQuery } from "../../api/client.ts";
import type { Policy, PolicyContent } from "../../api/types.ts";
import { useResource } from "../../api/use-resource.ts";
import { Loaded, Panel } from "../../components/panel.tsx";
import { printable } from "../../format/printable.ts";

/**
 * The policy's text: what the candidate changes of it, or the enforced text where there is no
 * candidate.
 */
export function DifferencePanel({
  policy: { id, enforced, candidate },
}: {
  readonly policy: Policy;
}) {
  const slot = candidate ?? enforced;
  if (slot === null) return null;
  const before = candidate === null ? null : enforced;
  return (
    <Panel
      title={
        before === null
          ? `The text of ${slot.revision}`
          : `What ${slot.revision} changes of ${before.revision}`
      }
    >
      <Difference id={id} from={before?.digest ?? null} to={slot.digest} />
    </Panel>
  );
}

function Difference({
  id,
  from,
  to,
}: {
  readonly id: string;
  readonly from: string | null;
  readonly to: string;
}) {
  const pathOf = (digest: string): string =>
    withQuery(`/v1/policies/${encodeURIComponent(id)}/content`, { digest });
  const before = useResource<PolicyContent>(from === null ? null : pathOf(from));
  const after = useResource<PolicyContent>(pathOf(to));
  if (from === null) {
    return (
      <Loaded of={after} lines={8}>
        {(content) => (
          <Lines
            rows={textOf(content)
              .split("\n")
              .map((text) => ({ mark: " ", text }))}
          />
        )}
      </Loaded>
    );
  }
  return (
    <Loaded of={before} lines={8}>
      {(old) => (
        <Loaded of={after} lines={8}>
          {(content) => <Lines rows={changedLines(textOf(old), textOf(content))} />}
        </Loaded>
      )}
    </Loaded>
  );
}

/** All sources in one text, each below the name of its package. */
function textOf({ sources, content }: PolicyContent): string {
  if (content === "removal") return "";
  return sources
    .map((each) => (sources.length === 1 ? each.source : `# ${each.package}\n${each.source}`))
    .join("\n");
}

interface Line {
  readonly mark: " " | "+" | "-" | "…";
  readonly text: string;
}

/** Unchanged lines that are kept around changes. */
const CONTEXT = 4;

function changedLines(before: string, after: string): readonly Line[] {
  const lines = diffLines(before, after).flatMap(({ value, added, removed }) =>
    value
      .replace(/\n$/, "")
      .split("\n")
      .map((text): Line => ({ mark: added ? "+" : removed ? "-" : " ", text })),
  );
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ mark }) => mark !== " "),
  );
  return lines.flatMap((line, at): readonly Line[] => {
    if (near[at] === true) return [line];
    return near[at - 1] === true || at === 0 ? [{ mark: "…", text: "" }] : [];
  });
}

function Lines({ rows }: { readonly rows: readonly Line[] }) {
  if (rows.length === 0) return <p class="hint">The texts are equal.</p>;
  return (
    <div class="difference" role="region" aria-label="Text of the policy" tabIndex={0}>
      {rows.map(({ mark, text }, at) => (
        <div key={at} class={mark === "+" ? "added" : mark === "-" ? "removed" : undefined}>
          <span class="mark">{mark === "+" || mark === "-" ? mark : ""}</span>
          {mark === "+" ? <span class="visually-hidden">added: </span> : null}
          {mark === "-" ? <span class="visually-hidden">removed: </span> : null}
          <code>
            <bdi>{mark === "…" ? "…" : text === "" ? " " : printable(text)}</bdi>
          </code>
        </div>
      ))}
    </div>
  );
}
